import { randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { TableReader, TableWriter } from '../store/small-tables.ts';
import { hashToken, isInForce } from './opaque-tokens.ts';
import { hashLink } from './sign-in-link.ts';

export type Sessions = ReturnType<typeof sessionsIn>;

/**
 * Sessions of operators, in the store. A session ends with its token, after
 * `limits.access.sessionMs`, or with the `limits.access.sessionsPerTokenMax`th newer session of its
 * token. All methods throw StoreError.
 *
 * A secret has 256 random bits, and the store keeps its hash only. The store looks up by hash,
 * which a guesser cannot choose.
 *
 * @param now milliseconds since the epoch
 */
export function sessionsIn(store: TableReader & TableWriter, now: () => number) {
  async function begin(
    tokenId: number,
    name: string,
    sessionsMax: number = limits.access.sessionsPerTokenMax,
  ) {
    const nowMs = now();
    const secret = randomBytes(32).toString('base64url');
    const times = { createdAtMs: nowMs, expiresAtMs: nowMs + limits.access.sessionMs };
    await store.createSession({ hash: hashToken(secret), tokenId, ...times }, sessionsMax);
    return { secret, name };
  }

  return {
    /** @returns the secret of a new session, which is known only here, and the token's name */
    async signIn(token: string) {
      const found = await store.findToken(hashToken(token));
      if (found === undefined || !isInForce(found, now())) return 'unknown';
      return found.role === 'operate' ? begin(found.id, found.name) : 'not an operator';
    },
    /** Signs in once for each link of `makeSignInLink`. @param link its secret */
    async signInByLink(link: string) {
      const hash = hashLink(link);
      // A guess costs a read and no write.
      const found = await store.findSessionToken(hash, now());
      if (found === undefined || !isInForce(found, now())) return 'unknown';
      if (!(await store.removeSession(hash))) return 'unknown';
      return begin(found.id, found.name, limits.access.commandLineSessionsMax);
    },
    async operatorOf(secret: string) {
      const token = await store.findSessionToken(hashToken(secret), now());
      return token !== undefined && isInForce(token, now()) ? token.name : undefined;
    },
    async signOut(secret: string) {
      await store.removeSession(hashToken(secret));
    },
  };
}
