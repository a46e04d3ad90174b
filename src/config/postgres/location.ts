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
import { passwordFile, postgresTls } from './files.ts';
import { type Parameter, parsePostgresUrl, variables } from './url.ts';

/**
 * Where a PostgreSQL database is: what the URL says, then the PG* variables, then what libpq takes
 * for granted.
 *
 * @throws UsageError with the rest of a sentence that starts with the flag's name. No password is
 * in it.
 */
export function postgresLocation(url: string, env: Environment): PostgresLocation {
  if (env['PGSERVICE'])
    throw new UsageError(
      'does not work with PGSERVICE: write what the service file says into the URL, and unset it',
    );
  const parameters = parsePostgresUrl(url);
  const read = (name: Parameter) => parameters[name] || env[variables[name]] || undefined;
  const parsed = <T>(name: Parameter, parse: (text: string) => T) =>
    parsedBy(parse, read(name), parameters[name] ? name : variables[name]);
  // Whichever it is, only a host that takes writes will do.
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
 * @param source where the text comes from, for the error, which does not show it: it may be part of
 * a password that was not encoded
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

/** libpq takes 0, too, and waits for ever then. */
function seconds(text: string): number {
  return 1_000 * integer(1, 600)(text);
}

/** Lists with commas. One port is for all hosts; of several, an empty one is the usual. */
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

/** Without a name, a server of the same machine, through its socket if there is one. */
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
    // A container may run as a number that has no name.
    throw new UsageError('names no user: write postgres://USER@HOST/DATABASE, or set PGUSER');
  }
}
