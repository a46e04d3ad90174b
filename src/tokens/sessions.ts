import { createHmac, randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { TableReader, TableWriter } from '../store/tables/tables.ts';
import { commandLineName } from './issue-token.ts';
import { hashToken, isInForce } from './opaque-tokens.ts';

export type Sessions = ReturnType<typeof sessionsIn>;

/**
 * Sessions of operators, in the store. A session ends with its token, after
 * `limits.access.sessionMs`, or when its token has `limits.access.sessionsPerTokenMax` newer ones.
 * A secret has 256 random bits; the store keeps and looks up its hash. All methods throw
 * StoreError.
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
      if (found === undefined || !isInForce(found, now())) return 'not in force';
      return found.role === 'operate' ? begin(found.id, found.name) : 'not an operator';
    },
    /** Signs in once for each link of `makeSignInLink`. @param link its secret */
    async signInByLink(link: string) {
      const hash = hashLink(link);
      // A guess costs a read and no write.
      const found = await store.findSessionToken(hash, now());
      if (found === undefined || !isInForce(found, now())) return 'not in force';
      if (!(await store.removeSession(hash))) return 'not in force';
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

/**
 * Makes a link that signs in once, within `limits.access.signInLinkMs`: a row among the sessions of
 * the command line, which earlier versions keep as well.
 *
 * @returns the secret, of 256 random bits, of which the store keeps a hash @throws StoreError
 */
export async function makeSignInLink(store: TableWriter, nowMs: number) {
  const name = commandLineName;
  const operator = { name, hash: hashToken(name), atMs: nowMs };
  const tokenId = await store.ensureSubject(operator, limits.jwt);
  const secret = randomBytes(32).toString('base64url');
  const expiresAtMs = nowMs + limits.access.signInLinkMs;
  await store.createSession(
    { hash: hashLink(secret), tokenId, createdAtMs: nowMs, expiresAtMs },
    limits.access.commandLineSessionsMax,
  );
  return { secret, expiresAtMs };
}

/** Differs from the hash of a session, so that a link is no session, and a session no link. */
function hashLink(secret: string): Buffer {
  return createHmac('sha256', 'sign-in link').update(secret).digest();
}
