import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { limits } from '../limits.ts';
import { type PostgresHost, type PostgresLocation, type PostgresTls, type TlsMode, tlsModes } from '../store/location.ts';
import type { Environment } from './environment.ts';
import { type Parameter, parsePostgresUrl, variables } from './postgres-url.ts';
import { integer, oneOf, UsageError } from './values.ts';

type Read = (name: Parameter) => string | undefined;

/**
 * Where a PostgreSQL database is: what the URL says, then the PG* variables, then what libpq takes for granted. No password is shown in
 * an error.
 *
 * @throws UsageError with the rest of a sentence that starts with the flag's name
 */
export function postgresLocation(url: string, env: Environment): PostgresLocation {
  const parameters = parsePostgresUrl(url);
  if (env['PGSERVICE'])
    throw new UsageError('cannot be used with PGSERVICE, which is not supported; unset it, and write its values into the URL');
  const read: Read = (name) => parameters[name] || env[variables[name]] || undefined;
  const parsed = <T>(name: Parameter, parse: (text: string) => T) =>
    parsedValue(read(name), parse, parameters[name] ? name : variables[name]);
  const user = read('user') ?? operatingSystemUser();
  const home = filesOfUser(env);
  // Whatever they are, only a host that takes writes will do.
  parsed('target_session_attrs', oneOf(['any', 'read-write', 'primary']));
  return {
    engine: 'postgres',
    hosts: hostsOf(read('host'), read('port')),
    database: read('dbname') ?? user,
    user,
    password: read('password'),
    passwordFile: read('passfile') ?? home.passwords,
    tls: tlsOf(read, parsed('sslmode', oneOf(tlsModes)), home),
    options: read('options'),
    applicationName: read('application_name') ?? 'plant-store',
    connectMs: parsed('connect_timeout', (text) => 1_000 * integer(1, 600)(text)) ?? limits.databaseConnectMs,
  };
}

function parsedValue<T>(value: string | undefined, parse: (text: string) => T, source: string): T | undefined {
  try {
    return value === undefined ? undefined : parse(value);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`cannot be used with this ${source}, which ${error.message}`, { cause: error });
  }
}

/** One port is for all hosts; of several, an empty one is the usual. */
function hostsOf(host = '', port = ''): PostgresHost[] {
  const hosts = host.split(',');
  const ports = port.split(',');
  if (ports.length > 1 && ports.length !== hosts.length) {
    throw new UsageError(`names ${hosts.length} hosts and ${ports.length} ports; give each host its port, or all the same one`);
  }
  return hosts.map((name, index) => hostAt(name, portOf(ports[index] ?? ports[0])));
}

function portOf(text = ''): number {
  return parsedValue(text || '5432', integer(1, 65_535), 'port') as number;
}

/** Without a name, a server of the same machine. */
function hostAt(name: string, port: number): PostgresHost {
  const host = name || (['/var/run/postgresql', '/tmp'].find((folder) => isThere(`${folder}/.s.PGSQL.${port}`)) ?? 'localhost');
  return { host, port };
}

function isThere(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    // The permission model refuses to look for what was not there when its flags were made.
    return false;
  }
}

function operatingSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number that has no name.
    throw new UsageError('names no user; write postgres://USER@HOST/DATABASE, or set PGUSER');
  }
}

interface UserFiles {
  readonly passwords: string | undefined;
  readonly root: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** Where libpq looks for them: the last three only if they are there (libpq-ssl.html, "SSL Client File Usage"). */
function filesOfUser(env: Environment): UserFiles {
  const { HOME: home, APPDATA: data } = env;
  const folder = data ? join(data, 'postgresql') : home && join(home, '.postgresql');
  const found = (name: string) => (folder && isThere(join(folder, name)) ? join(folder, name) : undefined);
  return {
    passwords: data ? join(data, 'postgresql', 'pgpass.conf') : home && join(home, '.pgpass'),
    root: found('root.crt'),
    certificate: found('postgresql.crt'),
    key: found('postgresql.key'),
  };
}

function tlsOf(read: Read, mode: TlsMode | undefined, home: UserFiles): PostgresTls {
  const rootFile = named('sslrootcert', read) ?? home.root;
  const certificateFile = named('sslcert', read) ?? home.certificate;
  const keyFile = named('sslkey', read) ?? home.key;
  if (rootFile === 'system' && mode !== undefined && mode !== 'verify-full') {
    throw new UsageError(
      `cannot be used with sslmode=${mode} and sslrootcert=system: anybody can have a certificate, so it must be verify-full`,
    );
  }
  const inForce = mode ?? (rootFile === 'system' ? 'verify-full' : 'prefer');
  if (inForce.startsWith('verify-') && rootFile === undefined) {
    throw new UsageError(
      `needs to know whom to trust for sslmode=${inForce}: add sslrootcert=FILE, or sslrootcert=system with verify-full for public authorities`,
    );
  }
  return { mode: inForce, rootFile, certificateFile, keyFile };
}

/** libpq goes on without a file that is not there, unverified if need be. Whoever names one wants it. */
function named(name: 'sslrootcert' | 'sslcert' | 'sslkey', read: Read): string | undefined {
  const file = read(name);
  if (file === undefined || file === 'system' || isThere(file)) return file;
  throw new UsageError(`has ${name}=${JSON.stringify(file)}, and there is no such file`);
}
