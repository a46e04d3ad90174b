import { readFileSync } from 'node:fs';
import { createFileDurably } from '../files.ts';
import { limits } from '../limits.ts';
import { type Store, StoreOpenError } from '../store/store.ts';
import { generateToken, hashToken, isGeneratedToken, tokenState } from './opaque-tokens.ts';

const name = 'first-start';

/**
 * Gives a store that has never had a token its first one, with the role `create`, so that a new user can try it at once.
 * The token goes into `path` (mode 0600) and nowhere else. The file comes first, and one that is there already is used:
 * so a crash in between costs nothing, and two services that start at once agree on the token.
 *
 * @throws StoreOpenError if `path` cannot be written, or holds something else
 */
export async function ensureFirstToken(store: Store, path: string, nowMs: number): Promise<void> {
  if ((await store.listTokens()).length > 0) return;
  const hash = hashToken(prepareFirstToken(path));
  await store.createToken({ name, hash, role: 'create', createdAtMs: nowMs, expiresAtMs: undefined }, limits.tokensLiveMax);
}

/**
 * Makes the file with the first token, unless there is one, and reads it.
 *
 * @throws StoreOpenError if `path` cannot be written, or holds something else
 */
export function prepareFirstToken(path: string): string {
  try {
    createFileDurably(path, `${generateToken()}\n`, 0o600);
    const token = readFileSync(path, 'utf8').trimEnd();
    if (isGeneratedToken(token)) return token;
  } catch (error) {
    const reason = (error as Error).message;
    throw new StoreOpenError(
      `cannot write the first token to ${path} (${reason}); check that the folder is writable, or choose another with --store`,
      { cause: error },
    );
  }
  throw new StoreOpenError(`${path} should hold the first token, but holds something else; move it away`);
}

/** Whether a token in the store is neither unknown nor revoked nor expired. */
export async function isTokenAdmitted(store: Store, token: string, nowMs: number): Promise<boolean> {
  const found = await store.findToken(hashToken(token));
  return found !== undefined && tokenState(found, nowMs) === 'valid';
}
