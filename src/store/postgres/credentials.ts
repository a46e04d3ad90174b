import { Writable } from 'node:stream';
import type { ClientConfig } from 'pg';
import { parse } from 'pg-connection-string';
import pgpass from 'pgpass';
import { StoreOpenError } from '../errors.ts';
import { isSocketFolder, type PostgresHost, type PostgresLocation } from '../location.ts';

/**
 * Called for each connection: a renewed certificate counts from the next one on. Connections over a
 * socket are never encrypted.
 *
 * @throws StoreOpenError
 */
export function tlsOptions(
  { host }: PostgresHost,
  tls: PostgresLocation['tls'],
): NonNullable<ClientConfig['ssl']> {
  if (isSocketFolder(host)) return false;
  const named = Object.entries(tls).filter(([, value]) => value !== undefined);
  const url = `postgres://?${new URLSearchParams(named)}`;
  try {
    const ssl = parse(url, { useLibpqCompat: true }).ssl as NonNullable<ClientConfig['ssl']>;
    // Node would trust all public authorities.
    if (tls.sslrootcert !== undefined && ssl !== false && !Object(ssl).ca)
      throw new Error(`the file of sslrootcert, ${tls.sslrootcert}, is empty`);
    return ssl;
  } catch (cause) {
    throw new StoreOpenError((cause as Error).message, { cause });
  }
}

// It would write raw lines to standard error, for each connection. The error below says enough.
pgpass.warnTo(new Writable({ write: (_chunk, _encoding, done) => done() }));

/** Called for each connection: a changed password file counts from the next one on. */
export async function passwordFor(
  host: PostgresHost,
  { password, database, user }: PostgresLocation,
): Promise<string> {
  if (password !== undefined) return password;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  pgpass({ ...host, database, user }, resolve);
  const found = await promise;
  if (found !== undefined) return found;
  throw new StoreOpenError(
    'it asks for a password, and there is none in the URL, in PGPASSWORD, or for this host ' +
      'in the password file (~/.pgpass, or PGPASSFILE), which counts only if no other user can ' +
      'read it (mode 0600)',
  );
}
