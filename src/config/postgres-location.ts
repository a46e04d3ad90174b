import { parse } from 'pg-connection-string';
import { limits } from '../limits.ts';
import {
  type PostgresHost,
  type PostgresLocation,
  type PostgresTls,
  tlsModes,
} from '../store/location.ts';
import type { Environment } from './environment.ts';
import { integer, oneOf, UsageError } from './values.ts';

/**
 * The parameters of a URL, each with the variable that counts if the URL does not have the
 * parameter (postgresql.org/docs/current/libpq-envars.html).
 */
export const variables = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  options: 'PGOPTIONS',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
} as const;

type Parameter = keyof typeof variables;
type Read = (name: Parameter) => string | undefined;

/**
 * Where a database is: from the URL, then from the PG* variables. `pg-connection-string` reads the
 * URL, `pg` connects, and `pgpass` reads the password file. Beyond them: several hosts, and errors
 * for what would be ignored, such as a mistyped `sslmode`.
 *
 * @throws UsageError with the rest of a sentence that starts with the flag's name, without the
 * password
 */
export function postgresLocation(url: string, env: Environment): PostgresLocation {
  const parameters = parseUrl(url);
  const read = (name: Parameter) => parameters[name] || env[variables[name]] || undefined;
  // Checked only: a host without writes is never used.
  parsedBy(oneOf(['any', 'read-write', 'primary']), 'target_session_attrs', read);
  const user = read('user') ?? (env['USER'] || env['USERNAME']);
  if (!user)
    throw new UsageError('names no user: write postgres://USER@HOST/DATABASE, or set PGUSER');
  return {
    engine: 'postgres',
    url,
    hosts: hostsFrom(read),
    database: read('dbname') ?? user,
    user,
    password: read('password'),
    tls: tlsFrom(read),
    options: read('options'),
    applicationName: read('application_name') ?? 'plant-store',
    connectMs: parsedBy(seconds, 'connect_timeout', read) ?? limits.postgres.connectMs,
  };
}

/** What stands before the hosts; the hosts; the database; the parameters. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^@/?]*)((?:\/[^@/?]*)?)(?:\?(.*))?$/s;

/** The errors show no part of the URL: any part may be a password that was not encoded. */
function parseUrl(url: string): Partial<Record<Parameter, string>> {
  const [, start, authority = '', database, query] = parts.exec(url) ?? refuse();
  const named = Object.fromEntries(new URLSearchParams(query));
  if (!Object.keys(named).every((name) => Object.hasOwn(variables, name))) {
    throw new UsageError(
      'has a parameter that is not supported; the supported ones: ' +
        `${Object.keys(variables).join(', ')}`,
    );
  }
  const atHosts = authority.split(',').map((host) => parsePart(`${start}${host}${database}`));
  const ports = atHosts.map(({ port }) => port ?? '');
  return {
    user: atHosts[0]?.user ?? '',
    password: atHosts[0]?.password ?? '',
    dbname: atHosts[0]?.database ?? '',
    host: atHosts.map(({ host }) => host ?? '').join(','),
    port: ports.some(Boolean) ? ports.join(',') : '',
    ...named,
  };
}

function parsePart(url: string): ReturnType<typeof parse> {
  try {
    return parse(url);
  } catch {
    return refuse();
  }
}

function refuse(): never {
  const codes = '%2F for /, %3A for :, %40 for @, %3F for ?, %25 for %';
  throw new UsageError(
    'must be a URL such as postgres://user@host:5432/database, and names and passwords in ' +
      `it need ${codes}`,
  );
}

/** Both are lists with commas. A single port is that of all hosts; an empty one is 5432. */
function hostsFrom(read: Read): PostgresHost[] {
  const names = (read('host') ?? '').split(',');
  const ports = (read('port') ?? '').split(',');
  if (ports.length > 1 && ports.length !== names.length) {
    throw new UsageError(
      `names ${names.length} hosts and ${ports.length} ports; write each port with its ` +
        'host, or one port for all',
    );
  }
  return names.map((host, index) => ({
    host: host || 'localhost',
    port: parsedBy(integer(1, 65_535), 'port', () => ports[index] ?? ports[0]) ?? 5_432,
  }));
}

function tlsFrom(read: Read): PostgresTls {
  const isPublic = read('sslrootcert') === 'system';
  const sslmode =
    parsedBy(oneOf(tlsModes), 'sslmode', read) ?? (isPublic ? 'verify-full' : 'prefer');
  if (isPublic && sslmode !== 'verify-full') {
    throw new UsageError(
      'needs sslmode=verify-full with sslrootcert=system: public authorities give ' +
        'certificates to everyone, for other names',
    );
  }
  return {
    sslmode,
    sslrootcert: isPublic ? undefined : read('sslrootcert'),
    sslcert: read('sslcert'),
    sslkey: read('sslkey'),
  };
}

/** The error does not show the text, which may be a part of a password. */
function parsedBy<T>(parse: (text: string) => T, name: Parameter, read: Read): T | undefined {
  const text = read(name);
  try {
    return text ? parse(text) : undefined;
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    const source = `${name} (or ${variables[name]})`;
    throw new UsageError(`does not work with this ${source}, which ${cause.message}`, { cause });
  }
}

function seconds(text: string): number {
  return 1_000 * integer(1, 600)(text);
}
