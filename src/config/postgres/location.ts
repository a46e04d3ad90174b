import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { limits } from '../../limits.ts';
import {
  type PostgresHost,
  type PostgresLocation,
  socketPath,
  tlsModes,
} from '../../store/location.ts';
import type { Environment } from '../environment.ts';
import { integer, oneOf, UsageError } from '../values.ts';
import { passwordFile, postgresTls } from './credential-files.ts';
import { parsePostgresUrl } from './url.ts';
import { type Parameter, variables } from './variables.ts';

/**
 * Where a database is: from the URL, then from the PG* variables, then from libpq's defaults.
 *
 * This folder, with `store/postgres/tls.ts` and `password-file.ts`, does what libpq does, and not
 * what `pg-connection-string` and `pgpass` do:
 *
 * | libraries | here, as in libpq |
 * | --- | --- |
 * | one host | several, tried in turn, so that a node finds the new primary after a failover |
 * | an unknown parameter is ignored | an error: `sslmod=verify-full` would verify nothing |
 * | characters that are not encoded are guessed | an error, which shows no part of a password |
 * | `prefer`, `require` and `verify-ca` verify as `verify-full` does | each as libpq-ssl.html says |
 * | certificates are read once | for each connection, so that renewed files count |
 * | `passfile=` is unknown, and a `localhost` line does not match a socket | both work |
 * | short lines and empty passwords of a password file are skipped | they count |
 * | a password file that others may read is skipped, with a warning | an error (libpq skips it) |
 * | a password file may be a pipe or have any size | a bounded file, so that no connection waits |
 *
 * Departures from libpq: a missing file that is named, `connect_timeout=0` (no timeout) and
 * PGSERVICE are errors.
 *
 * @throws UsageError with the rest of a sentence that starts with the flag's name, without the
 * password
 */
export function postgresLocation(url: string, env: Environment): PostgresLocation {
  if (env['PGSERVICE'])
    throw new UsageError(
      'does not work with PGSERVICE: write the settings of the service file into the URL, and unset PGSERVICE',
    );
  const parameters = parsePostgresUrl(url);
  const read = (name: Parameter) => parameters[name] || env[variables[name]] || undefined;
  const parsed = <T>(name: Parameter, parse: (text: string) => T) =>
    parsedBy(parse, read(name), parameters[name] ? name : variables[name]);
  // Checked only: a host without writes is never used.
  parsed('target_session_attrs', oneOf(['any', 'read-write', 'primary']));
  const user = read('user') ?? operatingSystemUser();
  return {
    engine: 'postgres',
    hosts: hostsFrom(read('host'), read('port')),
    database: read('dbname') ?? user,
    user,
    password: read('password'),
    passwordFile: read('passfile') ?? passwordFile(env),
    tls: postgresTls(parsed('sslmode', oneOf(tlsModes)), read, env),
    options: read('options'),
    applicationName: read('application_name') ?? 'plant-store',
    connectMs: parsed('connect_timeout', seconds) ?? limits.postgres.connectMs,
  };
}

/**
 * @param source the parameter or variable, for the error. The error does not show the text, which
 * may be a part of a password.
 */
function parsedBy<T>(
  parse: (text: string) => T,
  text: string | undefined,
  source: string,
): T | undefined {
  try {
    return text === undefined ? undefined : parse(text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`does not work with this ${source}, which ${error.message}`, {
      cause: error,
    });
  }
}

function seconds(text: string): number {
  return 1_000 * integer(1, 600)(text);
}

/** Both are lists with commas. A single port is that of all hosts; an empty one is 5432. */
function hostsFrom(host = '', port = ''): PostgresHost[] {
  const names = host.split(',');
  const ports = port
    .split(',')
    .map((text) => parsedBy(integer(1, 65_535), text || '5432', 'port') as number);
  if (ports.length > 1 && ports.length !== names.length) {
    throw new UsageError(
      `names ${names.length} hosts and ${ports.length} ports; write each port with its host, or one port for all`,
    );
  }
  return names.map((name, index) => hostAt(name, (ports[index] ?? ports[0]) as number));
}

/** Without a name: this machine, by a socket if there is one. */
function hostAt(name: string, port: number): PostgresHost {
  const host =
    name ||
    ['/var/run/postgresql', '/tmp'].find((folder) =>
      existsSync(socketPath({ host: folder, port })),
    );
  return { host: host ?? 'localhost', port };
}

function operatingSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // The user of a container may have no name.
    throw new UsageError('names no user: write postgres://USER@HOST/DATABASE, or set PGUSER');
  }
}
