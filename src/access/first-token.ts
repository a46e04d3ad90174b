import { dirname } from 'node:path';
import {
  createFileDurably,
  makeFolderDurably,
  readSmallFile,
  removeFileDurably,
  UnfitFileError,
} from '../disk/files.ts';
import { limits } from '../limits.ts';
import { StoreOpenError } from '../store/errors.ts';
import type { TokenReader, TokenWriter } from '../store/tokens.ts';
import { generateToken, hashToken, isGeneratedToken, tokenState } from './opaque-tokens.ts';

const name = 'first-start';

/**
 * Gives a store that has never had a token its first one, with the role `create`, so that a new
 * user can try it at once. The token goes into `path` (mode 0600) and nowhere else. The file comes
 * first, and one that is there already is used: so a crash in between costs nothing, and two
 * services that start at once agree on the token. Where they have no file in common, one is first,
 * and the other keeps no file.
 *
 * @returns whether the store has had a token before, or has the one in the file
 * @throws StoreOpenError if `path` cannot be written, or holds something else
 */
export async function ensureFirstToken(
  store: TokenReader & TokenWriter,
  path: string,
  nowMs: number,
): Promise<boolean> {
  const { byState } = await store.countTokens(nowMs, nowMs);
  if (Object.values(byState).some((tokens) => tokens > 0)) return true;
  const { token, isNew } = prepareFirstToken(path);
  const hash = hashToken(token);
  const outcome = await store.createToken(
    { name, hash, role: 'create', createdAtMs: nowMs, expiresAtMs: undefined },
    limits.access.liveTokensMax,
  );
  if (outcome === 'created' || (await store.findToken(hash)) !== undefined) return true;
  if (isNew) removeFileDurably(path);
  return false;
}

interface FirstToken {
  readonly token: string;
  /** Whether the file was made for it. */
  readonly isNew: boolean;
}

/**
 * Makes the file with the first token, and its folder, unless there is one, and reads it.
 *
 * @throws StoreOpenError if `path` cannot be written, or holds something else
 */
function prepareFirstToken(path: string): FirstToken {
  try {
    makeFolderDurably(dirname(path));
    const isNew = createFileDurably(path, `${generateToken()}\n`, 0o600);
    const token = readFirstToken(path);
    if (token !== undefined) return { token, isNew };
  } catch (error) {
    const reason = (error as Error).message;
    throw new StoreOpenError(
      `cannot write the first token to ${path} (${reason}); check that the folder is writable, or choose another with --store; a store in a database can be given a token with "plant-store token create NAME" instead`,
      { cause: error },
    );
  }
  throw new StoreOpenError(
    `${path} should hold the first token, but holds something else; move it away`,
  );
}

/**
 * @returns undefined if something else stands at the path. @throws the errors of the file system,
 * also if nothing does
 */
export function readFirstToken(path: string): string | undefined {
  try {
    const token = readSmallFile(path, limits.access.tokenFileBytesMax).trimEnd();
    return isGeneratedToken(token) ? token : undefined;
  } catch (error) {
    if (error instanceof UnfitFileError) return undefined;
    throw error;
  }
}

/** Whether a token in the store is neither unknown nor revoked nor expired. */
export async function isTokenAdmitted(
  store: TokenReader,
  token: string,
  nowMs: number,
): Promise<boolean> {
  const found = await store.findToken(hashToken(token));
  return found !== undefined && tokenState(found, nowMs) === 'valid';
}
