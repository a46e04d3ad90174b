import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresTls, TlsMode } from '../../store/location.ts';
import type { Environment } from '../environment.ts';
import { UsageError } from '../values.ts';
import type { Parameter } from './variables.ts';

type Read = (name: Parameter) => string | undefined;

/** The default password file (libpq-pgpass.html). It may not exist. */
export function passwordFile({ HOME: home, APPDATA: appData }: Environment): string | undefined {
  if (appData) return join(appData, 'postgresql', 'pgpass.conf');
  return home ? join(home, '.pgpass') : undefined;
}

/**
 * The certificates and the key, from the files that are named, or from libpq's default files
 * (libpq-ssl.html, 34.19).
 *
 * @throws UsageError
 */
export function postgresTls(mode: TlsMode | undefined, read: Read, env: Environment): PostgresTls {
  const rootFile = named('sslrootcert', read) ?? found('root.crt', env);
  const certificateFile = named('sslcert', read) ?? found('postgresql.crt', env);
  const keyFile = named('sslkey', read) ?? found('postgresql.key', env);
  if (certificateFile !== undefined && keyFile === undefined)
    throw new UsageError(`needs sslkey=FILE, with the key of ${certificateFile}`);
  return { mode: modeInForce(mode, rootFile), rootFile, certificateFile, keyFile };
}

function modeInForce(mode: TlsMode | undefined, rootFile: string | undefined): TlsMode {
  if (rootFile === 'system') {
    if (mode === undefined || mode === 'verify-full') return 'verify-full';
    throw new UsageError(
      'needs sslmode=verify-full with sslrootcert=system: public authorities give certificates to everyone, for other names',
    );
  }
  if (mode?.startsWith('verify-') && rootFile === undefined) {
    throw new UsageError(
      `needs sslrootcert=FILE with sslmode=${mode}, or sslrootcert=system for a public authority: without it, no certificate can be verified`,
    );
  }
  return mode ?? 'prefer';
}

function named(name: Parameter, read: Read): string | undefined {
  const file = read(name);
  if (file === undefined || file === 'system' || existsSync(file)) return file;
  throw new UsageError(`names ${file} with ${name}, which does not exist`);
}

function found(name: string, { HOME: home, APPDATA: appData }: Environment): string | undefined {
  const folder = appData ? join(appData, 'postgresql') : home && join(home, '.postgresql');
  return folder && existsSync(join(folder, name)) ? join(folder, name) : undefined;
}
