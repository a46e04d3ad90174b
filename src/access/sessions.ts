import { randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { SessionReader, SessionWriter } from '../store/sessions.ts';
import type { TokenReader } from '../store/tokens.ts';
import { hashToken, tokenState } from './opaque-tokens.ts';

/**
 * Who is signed in. A session is valid as long as the token that it was made with, for
 * `limits.access.sessionMs` at most, and until `limits.access.sessionsPerTokenMax` newer ones were
 * made with the same token.
 */
export interface Sessions {
  /**
   * @returns the secret of a new session, which is known only here, and the name of the token; or
   * why there is none
   * @throws StoreError
   */
  signIn(token: string): Promise<SignedIn | 'unknown' | 'not an operator'>;
  /**
   * The name of the token that the session was made with; undefined if it is over. @throws
   * StoreError
   */
  operatorOf(secret: string): Promise<string | undefined>;
  /** @throws StoreError */
  signOut(secret: string): Promise<void>;
}

interface SignedIn {
  readonly secret: string;
  readonly name: string;
}

/**
 * Sessions in the store, which keeps the hashes of their secrets: 256 random bits, like tokens.
 * Both are looked up by hash, which a guesser cannot steer.
 *
 * @param now milliseconds since the epoch
 */
export function sessionsIn(
  store: TokenReader & SessionReader & SessionWriter,
  now: () => number,
): Sessions {
  return {
    async signIn(token) {
      const nowMs = now();
      const found = await store.findToken(hashToken(token));
      if (found === undefined || tokenState(found, nowMs) !== 'valid') return 'unknown';
      if (found.role !== 'operate') return 'not an operator';
      const secret = randomBytes(32).toString('base64url');
      const times = { createdAtMs: nowMs, expiresAtMs: nowMs + limits.access.sessionMs };
      await store.createSession(
        { hash: hashToken(secret), tokenId: found.id, ...times },
        limits.access.sessionsPerTokenMax,
      );
      return { secret, name: found.name };
    },
    async operatorOf(secret) {
      const nowMs = now();
      const token = await store.findSessionToken(hashToken(secret), nowMs);
      return token !== undefined && tokenState(token, nowMs) === 'valid' ? token.name : undefined;
    },
    signOut: (secret) => store.removeSession(hashToken(secret)),
  };
}
