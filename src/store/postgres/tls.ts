import { readFile } from 'node:fs/promises';
import { type ConnectionOptions, getCACertificates } from 'node:tls';
import pg from 'pg';
import type { PostgresTls, TlsMode } from '../location.ts';
import { isSocketFolder, NoTlsError } from './stream.ts';

/** Whether to encrypt, in the order in which it is tried (libpq-ssl.html, table 34.1). */
const encryptions = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
} as const satisfies Record<TlsMode, readonly boolean[]>;

/** A socket of the same machine is never encrypted. */
export function encryptionsFor(host: string, mode: TlsMode): readonly [boolean, boolean?] {
  return isSocketFolder(host) ? [false] : encryptions[mode];
}

/** The files are read for each connection, so that a certificate that has been renewed counts from the next one on. */
export async function tlsOptions({ mode, rootFile, certificateFile, keyFile }: PostgresTls): Promise<ConnectionOptions> {
  const [ca, cert, key] = await Promise.all([
    rootFile === 'system' ? systemCertificates() : read(rootFile),
    read(certificateFile),
    read(keyFile),
  ]);
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    // With a root file, `require` is `verify-ca`, as it was before there was that (libpq-ssl.html, 34.19.1).
    rejectUnauthorized: mode.startsWith('verify-') || (mode === 'require' && rootFile !== undefined),
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
}

/** In a list: Node would take an empty file for none, and trust everybody. */
async function read(file: string | undefined): Promise<Buffer[] | undefined> {
  return file === undefined ? undefined : [await readFile(file)];
}

/** An image of a container may have none of its own. */
function systemCertificates(): string[] {
  return [...getCACertificates('default'), ...getCACertificates('system')];
}

/** Whether it may go better with the other one: `allow` asks again with TLS, `prefer` without, where the server wants that. */
export function mayHelp(isEncrypted: boolean, error: unknown): boolean {
  if (isEncrypted) return error instanceof pg.DatabaseError;
  // pg_hba.conf has no line for it (28000).
  return error instanceof NoTlsError || (error instanceof pg.DatabaseError && error.code === '28000');
}
