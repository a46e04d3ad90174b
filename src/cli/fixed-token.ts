import { tokenVariable } from '../config/command-line.ts';
import type { Environment } from '../config/environment.ts';
import { UsageError } from '../config/values.ts';
import { readSmallFile, UnfitFileError } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { CommandError } from './command.ts';

/** The log warns of a shorter fixed token. 32 characters of base64 are 192 bits. */
export const fixedTokenChars = 32;

export function fixedToken(file: string | undefined, env: Environment): string | undefined {
  const { tokenCharsMax: charsMax } = limits.access;
  const fromEnv = env[tokenVariable];
  if (fromEnv !== undefined && file !== undefined) {
    throw new UsageError(`${tokenVariable} and --token-file are both given; remove one of them`);
  }
  const token = file === undefined ? fromEnv : tokenFromFile(file);
  if (token === undefined || (/^[A-Za-z0-9\-._~+/]+=*$/.test(token) && token.length <= charsMax))
    return token;
  const source = file === undefined ? tokenVariable : `the file ${file} of --token-file`;
  throw new UsageError(
    `${source} must hold one token: up to ${charsMax} of the characters A-Z a-z 0-9 - . _ ` +
      '~ + /, then = or nothing',
  );
}

/** A pipe, such as `<(…)`, is refused: the start would wait for the writer. */
function tokenFromFile(file: string): string {
  try {
    return readSmallFile(file, limits.access.tokenFileBytesMax).trim();
  } catch (error) {
    const wayOut =
      error instanceof UnfitFileError
        ? `; put the token into a file, or give it in ${tokenVariable}`
        : '';
    throw new CommandError(
      `cannot read --token-file ${file} (${(error as Error).message})${wayOut}`,
      { cause: error },
    );
  }
}
