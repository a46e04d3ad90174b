import { createHmac, randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { TableWriter } from '../store/small-tables.ts';
import { commandLineName } from './actor.ts';
import { hashToken } from './opaque-tokens.ts';

export interface SignInLink {
  /** 256 random bits. The store keeps a hash. */
  readonly secret: string;
  readonly expiresAtMs: number;
}

/**
 * Makes a link that signs in once, within `limits.access.signInLinkMs`. The link is a row among the
 * sessions of the command line, which services of earlier versions keep as well.
 *
 * @throws StoreError
 */
export async function makeSignInLink(store: TableWriter, nowMs: number): Promise<SignInLink> {
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

/**
 * Another hash than that of sessions and tokens: the secret of a link is no session, and the secret
 * of a session is no link.
 */
export function hashLink(secret: string): Buffer {
  return createHmac('sha256', 'sign-in link').update(secret).digest();
}
