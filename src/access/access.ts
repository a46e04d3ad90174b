import type { Role } from '../store/tokens.ts';

/** The sender of a request. `id` is 0 for the fixed token of the environment. */
export interface Caller {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/** `unknown`: no valid token. `unavailable`: the tokens cannot be read now. */
export type Authentication = Caller | 'unknown' | 'unavailable';

/** Finds the caller of a bearer token. Disposing of it stores when tokens were last used. */
export interface Access extends AsyncDisposable {
  /** @param header the Authorization header with the token */
  authenticate(token: string, header: string): Authentication;
  /**
   * Authenticates a token that was unknown, after the tokens were read again. These reads are
   * limited, so the call can take `limits.access.readAgainMs` and the time of a read.
   */
  authenticateAgain(token: string, header: string): Promise<Authentication>;
  /** The caller that this very header has just authenticated, without parsing and hashing. */
  recall(header: string): Caller | undefined;
}
