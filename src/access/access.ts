import type { Rate, TokenRecord } from '../store/tokens.ts';
import type { Tally } from './tally.ts';

export interface Caller {
  readonly id: number;
  readonly name: string;
  readonly role: TokenRecord['role'];
  readonly rate: Rate | undefined;
  /** The secrets of one name share a bucket. */
  readonly bucket: number;
  readonly tally: Tally;
}

/** A token that is not valid, or is valid and lacks a scope. */
export class Denial {
  /** The end of "the token is refused: ". */
  readonly reason: string;
  readonly missingScope: string | undefined;
  /** Of a token that is revoked or expired. It counts refusals, and admits nothing. */
  readonly sender: Tally | undefined;

  constructor(reason: string, { missingScope, sender }: Partial<Omit<Denial, 'reason'>> = {}) {
    this.reason = reason;
    this.missingScope = missingScope;
    this.sender = sender;
  }
}

export class Outage {
  readonly cause: string;

  constructor(cause: string) {
    this.cause = cause;
  }
}

/** `unknown`: only `authenticateAgain` can tell. */
export type Authentication = Caller | 'unknown' | Outage;

/** Finds the caller of a bearer token. */
export interface Access {
  /** A longer token is refused unread. */
  readonly tokenCharsMax: number;
  /** @param header the Authorization header with the token */
  authenticate(token: string, header: string): Authentication;
  /**
   * Authenticates a token that was unknown, after the tokens of the store or the keys of its issuer
   * were read again. These reads are limited, so the call can take `limits.access.readAgainMs`, or
   * `limits.jwt.keysAgainMs`, and the time of a read; for the name of an ended token, further
   * `limits.access.endedLookupMs`.
   */
  authenticateAgain(token: string, header: string): Promise<Caller | Denial | Outage>;
  /** The caller that this very header has just authenticated, without parsing and hashing. */
  recall(header: string): Caller | undefined;
}

/** Disposing of it stores when tokens were last used. */
export type OpenAccess = Access & AsyncDisposable;
