import { CommandError } from '../cli/command.ts';
import { tokenVariable } from '../cli/flags/command-line.ts';
import type { Environment } from '../cli/flags/environment.ts';
import { UsageError } from '../cli/flags/values.ts';
import { readSmallFile, UnfitFileError } from '../disk/files.ts';
import { isThisMachine } from '../hosts.ts';
import { limits } from '../limits.ts';

/** @param host on which clients are served */
export function fixedToken(
  file: string | undefined,
  env: Environment,
  host: string,
): string | undefined {
  const { tokenCharsMax: charsMax, fixedTokenCharsMin: charsMin } = limits.access;
  const fromEnv = env[tokenVariable];
  if (fromEnv !== undefined && file !== undefined) {
    throw new UsageError(`${tokenVariable} and --token-file are both given; remove one of them`);
  }
  const token = file === undefined ? fromEnv : tokenFromFile(file);
  if (token === undefined) return undefined;
  const source = file === undefined ? tokenVariable : `the file ${file} of --token-file`;
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(token) || token.length > charsMax)
    throw new UsageError(
      `${source} must hold one token: up to ${charsMax} of the characters A-Z a-z 0-9 - . _ ` +
        '~ + /, then = or nothing',
    );
  if (token.length < charsMin && !isThisMachine(host))
    throw new UsageError(
      `the token of ${source} has fewer than ${charsMin} characters, and other machines may ` +
        `guess the token at --host ${host}; take a longer one, such as "openssl rand -base64 32" ` +
        'prints, or remove the setting and use "plant-store token create NAME"',
    );
  return token;
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
