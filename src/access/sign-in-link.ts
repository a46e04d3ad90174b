import { createHmac, randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { TableWriter } from '../store/small-tables.ts';
import { commandLineName } from './actor.ts';
import { hashToken } from './opaque-tokens.ts';

/**
 * Makes a link that signs in once, within `limits.access.signInLinkMs`. The link is a row among the
 * sessions of the command line, which services of earlier versions keep as well.
 *
 * @returns the secret, of 256 random bits. The store keeps a hash.
 * @throws StoreError
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

/** Not the hash of sessions: the secret of a link is no session, and that of a session no link. */
export function hashLink(secret: string): Buffer {
  return createHmac('sha256', 'sign-in link').update(secret).digest();
}
