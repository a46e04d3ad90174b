import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresTls, TlsMode } from '../../store/location.ts';
import type { Environment } from '../environment.ts';
import { UsageError } from '../values.ts';
import type { Parameter } from './url.ts';

type Read = (name: Parameter) => string | undefined;

/** Where libpq looks for passwords if it is not told (libpq-pgpass.html). It need not be there. */
export function passwordFile({ HOME: home, APPDATA: appData }: Environment): string | undefined {
  if (appData) return join(appData, 'postgresql', 'pgpass.conf');
  return home ? join(home, '.pgpass') : undefined;
}

/**
 * Whom to trust and what to show, from the files that are named or those that libpq finds by itself
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
      'needs sslmode=verify-full with sslrootcert=system, since anybody can have such a certificate for another name',
    );
  }
  if (mode?.startsWith('verify-') && rootFile === undefined) {
    throw new UsageError(
      `needs to know for sslmode=${mode} who vouches for the server: sslrootcert=FILE, or sslrootcert=system if that is a public authority`,
    );
  }
  return mode ?? 'prefer';
}

/**
 * libpq goes on without a file that is not there, and verifies nothing if need be. But who names a
 * file means it.
 */
function named(name: Parameter, read: Read): string | undefined {
  const file = read(name);
  if (file === undefined || file === 'system' || existsSync(file)) return file;
  throw new UsageError(`names ${file} with ${name}, which is not there`);
}

function found(name: string, { HOME: home, APPDATA: appData }: Environment): string | undefined {
  const folder = appData ? join(appData, 'postgresql') : home && join(home, '.postgresql');
  return folder && existsSync(join(folder, name)) ? join(folder, name) : undefined;
}
