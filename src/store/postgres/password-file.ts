import { stat } from 'node:fs/promises';
import { isErrno, readSmallFileLater, UnfitFileError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreOpenError } from '../errors.ts';
import { isSocketFolder } from '../location.ts';

export interface PasswordQuestion {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * Finds a password in a password file (libpq-pgpass.html): on the first line whose host, port,
 * database and user match or are `*`.
 *
 * @throws StoreOpenError if other users may read the file
 */
export async function passwordFrom(
  file: string,
  { host, port, database, user }: PasswordQuestion,
): Promise<string | undefined> {
  const content = await readPasswordFile(file);
  for (const text of content.split(/\r?\n/)) {
    const [, ...fields] = text.startsWith('#') ? [] : (line.exec(text) ?? []);
    if (!isMeant(fields, [host, `${port}`, database, user])) continue;
    return unescaped(fields[4] ?? '');
  }
  return undefined;
}

/** Four fields, each with a colon after it, and the password. A backslash escapes a character. */
const line = new RegExp(`^${'((?:\\\\.|[^:\\\\])*):'.repeat(4)}(.*)$`, 's');

function isMeant(fields: readonly string[], question: readonly string[]): boolean {
  if (fields.length === 0) return false;
  return question.every((asked, index) => {
    const field = fields[index] ?? '';
    return (
      field === '*' ||
      unescaped(field) === asked ||
      (index === 0 && field === 'localhost' && isSocketFolder(asked))
    );
  });
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}

async function readPasswordFile(file: string): Promise<string> {
  try {
    // For example /dev/null, for no passwords.
    if (!(await stat(file)).isFile()) return '';
    const { content, mode } = await readSmallFileLater(
      file,
      limits.postgres.credentialFileBytesMax,
    );
    // Windows has no such mode bits.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new StoreOpenError(
        `the password file ${file} must be readable only by its owner; run: chmod 600 ${file}`,
      );
    }
    return content.toString();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return '';
    throw error instanceof UnfitFileError
      ? new StoreOpenError(error.message, { cause: error })
      : error;
  }
}
