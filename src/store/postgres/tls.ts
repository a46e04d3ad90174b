import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import { readSmallFileLater, UnfitFileError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreOpenError } from '../errors.ts';
import { isSocketFolder, type PostgresTls, type TlsMode } from '../location.ts';

/** The server does not support TLS. */
export class NoTlsError extends StoreOpenError {}

/** Whether to encrypt, and the second attempt after a failure (libpq-ssl.html, table 34.1). */
const encryptions: Record<TlsMode, readonly [boolean, boolean?]> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

/** Connections over a socket are never encrypted. */
export function encryptionsFor(host: string, mode: TlsMode): readonly [boolean, boolean?] {
  return isSocketFolder(host) ? [false] : encryptions[mode];
}

/** `allow` tries TLS after any refusal; `prefer` tries without TLS only where it must. */
export function mayHelp(isEncrypted: boolean, error: unknown): boolean {
  if (isEncrypted) return error instanceof pg.DatabaseError;
  // 28000: pg_hba.conf has no matching line.
  return (
    error instanceof NoTlsError || (error instanceof pg.DatabaseError && error.code === '28000')
  );
}

/** Reads the files for each connection: a renewed certificate counts from the next one on. */
export async function tlsOptions(tls: PostgresTls): Promise<ConnectionOptions> {
  const { mode, rootFile, certificateFile, keyFile } = tls;
  return {
    ...(rootFile !== undefined && rootFile !== 'system' && { ca: await read(rootFile) }),
    ...(certificateFile !== undefined && { cert: await read(certificateFile) }),
    ...(keyFile !== undefined && { key: await read(keyFile) }),
    // With a root file, `require` works as `verify-ca` (libpq-ssl.html, 34.19.1).
    rejectUnauthorized:
      mode.startsWith('verify-') || (mode === 'require' && rootFile !== undefined),
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
}

/** A list: for an empty file, Node would trust all public authorities. @throws StoreOpenError */
async function read(file: string): Promise<Buffer[]> {
  try {
    return [(await readSmallFileLater(file, limits.postgres.credentialFileBytesMax)).content];
  } catch (error) {
    throw error instanceof UnfitFileError
      ? new StoreOpenError(error.message, { cause: error })
      : error;
  }
}
