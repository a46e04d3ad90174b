import type { Role } from '../store/tokens.ts';

/** Who sends a request. `id` is 0 for the fixed token of the environment. */
export interface Caller {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/** Tells who a bearer token belongs to. Disposing of it writes down when tokens were last used. */
export interface Access extends AsyncDisposable {
  /**
   * @param header the Authorization header that the token stands in
   * @returns the caller, `unknown` for a token that admits nobody (any more), `unavailable` while
   * that cannot be told
   */
  authenticate(token: string, header: string): Caller | 'unknown' | 'unavailable';
  /**
   * Tells the same of a token that was unknown, once the tokens have been read again: it may be
   * newer than the last reading. Such readings are few, so this can take
   * `limits.access.readAgainMs` and the time of a reading.
   */
  authenticateAgain(token: string, header: string): Promise<Caller | 'unknown' | 'unavailable'>;
  /**
   * Who `authenticate` has just admitted with this very header, if that still holds: it spares
   * parsing and hashing it again.
   */
  recall(header: string): Caller | undefined;
}
