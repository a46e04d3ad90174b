import type { ProviderConfig } from '../../access/provider.ts';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { readSmallFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { CommandError } from '../command.ts';

/** The flags of `providerConfig`. */
export const providerFlags = [
  'ops-issuer',
  'ops-client-id',
  'ops-client-secret-file',
  'ops-scope',
  'ops-claim',
  'ops-url',
] as const;

/** Undefined if operators sign in with tokens only. @throws UsageError, CommandError */
export function providerConfig(
  values: Values<(typeof providerFlags)[number]>,
): ProviderConfig | undefined {
  const {
    'ops-issuer': issuer,
    'ops-client-id': clientId,
    'ops-client-secret-file': secretFile,
    'ops-scope': scope,
    'ops-claim': claim,
    'ops-url': url,
  } = values;
  const all = { issuer, 'client-id': clientId, claim, url };
  const missing = Object.entries(all).find(([, value]) => value === undefined)?.[0];
  if (Object.values(all).every((value) => value === undefined) && secretFile === undefined)
    return undefined;
  if (issuer === undefined || clientId === undefined || claim === undefined || url === undefined)
    throw new UsageError(
      `--ops-${missing} is missing: --ops-issuer, --ops-client-id, --ops-claim and --ops-url must be given together`,
    );
  if (!scope.split(' ').includes('openid'))
    throw new UsageError('--ops-scope must have the scope openid');
  const clientSecret = secretFile === undefined ? undefined : secretIn(secretFile);
  return { issuer, clientId, clientSecret, scope, claim, url };
}

function secretIn(file: string): string {
  try {
    const secret = readSmallFile(file, limits.access.tokenFileBytesMax).trim();
    if (secret !== '') return secret;
  } catch (error) {
    throw new CommandError(
      `cannot read --ops-client-secret-file ${file} (${(error as Error).message})`,
      { cause: error },
    );
  }
  throw new CommandError(`the file ${file} of --ops-client-secret-file is empty`);
}
