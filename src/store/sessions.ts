import type { TokenRecord } from './tokens.ts';

/** A session of the console. Times are milliseconds since the epoch. */
export interface NewSession {
  /** SHA-256 of the session's secret. */
  readonly hash: Uint8Array;
  readonly tokenId: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export interface SessionReader {
  /** The token, revoked or not; undefined if the session does not exist or has expired. */
  findSessionToken(hash: Uint8Array, nowMs: number): Promise<TokenRecord | undefined>;
}

export interface SessionWriter {
  /**
   * Keeps the newest `perTokenMax` sessions of the token, the new session included. Removes the
   * expired sessions of all tokens, and the sessions of tokens that are not live.
   */
  createSession(session: NewSession, perTokenMax: number): Promise<void>;
  /** @returns false if there is no such session: of two calls at once, one removes it */
  removeSession(hash: Uint8Array): Promise<boolean>;
  /** Ends all sessions of a token or a subject. */
  removeSessionsOf(tokenId: number): Promise<void>;
}
