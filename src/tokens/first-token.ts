import { dirname } from 'node:path';
import {
  createFileDurably,
  isSystemError,
  makeFolderDurably,
  readOwnFile,
  readSmallFile,
  removeFileDurably,
  UnfitFileError,
} from '../disk/files.ts';
import { limits } from '../limits.ts';
import { commandOn } from '../store/command-text.ts';
import { StoreOpenError } from '../store/errors.ts';
import type { TableReader, TableWriter } from '../store/tables/tables.ts';
import { firstStartName } from './issue-token.ts';
import { generateToken, hashToken, isGeneratedToken, isInForce } from './opaque-tokens.ts';

const name = 'first-start';

/**
 * Creates the first token, with the role `create`, of a store that has never had a token. Its file
 * is written before the store, and an existing file is used: so a crash loses nothing, and two
 * services that start together agree. A file that others may have written, or can read, is not
 * used. Of two services without a common file, the second removes its file.
 *
 * @param location of the store, as `Engine.url` @param path mode 0600, written nowhere else
 * @returns whether the store had a token before, or has the token of the file
 * @throws StoreOpenError if `path` cannot be written, is not as above, or holds something else
 */
export async function ensureFirstToken(
  store: TableReader & TableWriter,
  location: string,
  path: string,
  nowMs: number,
): Promise<boolean> {
  const { byState } = await store.countTokens(nowMs, nowMs);
  if (Object.values(byState).some((tokens) => tokens > 0)) return true;
  const { token, isNew } = prepareFirstToken(path, location);
  const hash = hashToken(token);
  const outcome = await store.createToken(
    {
      name,
      hash,
      role: 'create',
      createdBy: firstStartName,
      createdAtMs: nowMs,
      expiresAtMs: undefined,
    },
    limits.access.liveTokensMax,
  );
  if (outcome === 'created' || (await store.findToken(hash)) !== undefined) return true;
  if (isNew) removeFileDurably(path);
  return false;
}

function prepareFirstToken(path: string, location: string): { token: string; isNew: boolean } {
  try {
    makeFolderDurably(dirname(path));
    const made = generateToken();
    if (createFileDurably(path, `${made}\n`)) return { token: made, isNew: true };
    const token = tokenIn(readOwnFile(path, limits.access.tokenFileBytesMax));
    if (token !== undefined) return { token, isNew: false };
  } catch (error) {
    if (error instanceof UnfitFileError)
      throw new StoreOpenError(`the first token cannot be taken from a file: ${error.message}`);
    throw new StoreOpenError(
      `cannot write the first token to ${path} (${(error as Error).message}); make the folder ` +
        `writable, or choose another with --store; ${commandOn(location, 'token create NAME')} gives a store in a database its ` +
        'first token without a file',
      { cause: error },
    );
  }
  throw new StoreOpenError(
    `${path} should hold the first token, but holds something else; move it away`,
  );
}

/** Undefined if there is no file to read, or it holds something else. */
export function readFirstToken(path: string): string | undefined {
  try {
    return tokenIn(readSmallFile(path, limits.access.tokenFileBytesMax));
  } catch (error) {
    if (error instanceof UnfitFileError || isSystemError(error)) return undefined;
    throw error;
  }
}

function tokenIn(text: string): string | undefined {
  const token = text.trimEnd();
  return isGeneratedToken(token) ? token : undefined;
}

export async function isTokenAdmitted(store: TableReader, token: string, nowMs: number) {
  const found = await store.findToken(hashToken(token));
  return found !== undefined && isInForce(found, nowMs);
}
