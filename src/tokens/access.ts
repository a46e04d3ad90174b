import { Refusal } from '../contract/problems.ts';
import type { Rate, TokenRecord } from '../store/tables/tokens.ts';
import type { Tally } from './tally.ts';

export interface Caller {
  readonly id: number;
  readonly name: string;
  readonly role: TokenRecord['role'];
  readonly rate: Rate | undefined;
  /** The secrets of one name are one account: they share its rate, and its part of each bound. */
  readonly account: number;
  readonly tally: Tally;
}

/** What is before the token in a usual header. Other spellings are rare, and not remembered. */
export const usualScheme = 'Bearer ';

/** @param reason the end of "the token is refused: " */
export function denial(reason: string): Refusal {
  return new Refusal('tokenInvalid', `The token is refused: ${reason}. Use another token.`);
}

/** @param cause for operators */
export function outage(cause: string, Kind = Refusal): Refusal {
  const message = 'The token cannot be checked now, so nothing was stored. Retry later.';
  return new Kind('storeUnavailable', message, undefined, cause);
}

/** The issuer of a token is away, and the store is not: no outage for `watchStore`. */
export class IssuerOutage extends Refusal {}

export function isStoreOutage(refusal: Refusal): boolean {
  return refusal.problem === 'storeUnavailable' && !(refusal instanceof IssuerOutage);
}

/** Finds the caller of a bearer token. */
export interface Access {
  /** A longer token is refused unread. */
  readonly tokenCharsMax: number;
  /**
   * @param header the Authorization header with the token
   * @returns undefined if only `authenticateAgain` can tell
   */
  authenticate(token: string, header: string): Caller | Refusal | undefined;
  /**
   * Authenticates an unknown token, after the tokens of the store or the keys of its issuer were
   * read again: within `limits.access.readAgainMs`, or `limits.jwt.keysAgainMs`, and a read.
   *
   * @returns the tally alone for a token that is revoked or expired: it counts the refusal
   */
  authenticateAgain(token: string, header: string): Promise<Caller | Refusal | Tally>;
  /** The caller that this very header has just authenticated, without parsing and hashing. */
  recall(header: string): Caller | undefined;
}
