import { parse } from 'pg-connection-string';
import { limits } from '../../limits.ts';
import {
  type PostgresHost,
  type PostgresLocation,
  type PostgresTls,
  tlsModes,
} from '../../store/location.ts';
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
  channel_binding: 'PGCHANNELBINDING',
  gssencmode: 'PGGSSENCMODE',
} as const;

/** Taken, and without a meaning here: each call has a time of its own. */
const keepalives = ['keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count'];

/** They would lead to another server, or make it safer. */
const unreadVariables = ['PGSERVICE', 'PGHOSTADDR', 'PGREQUIREAUTH', 'PGREQUIREPEER', 'PGSSLCRL'];

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
  const unread = unreadVariables.find((name) => env[name]);
  if (unread !== undefined)
    throw new UsageError(
      `does not work with ${unread}, which plant-store does not read; unset it, and name the ` +
        'host, the database and the user in the URL',
    );
  // Checked only: a host without writes is never used, and no other value is in force.
  parsedBy(oneOf(['any', 'read-write', 'primary']), 'target_session_attrs', read);
  parsedBy(preferred, 'channel_binding', read);
  parsedBy(oneOf(['disable', 'prefer']), 'gssencmode', read);
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

/**
 * The errors show no part of the URL, because any part may be a password that was not encoded, but
 * for the name of a parameter that stands behind no password.
 */
function parseUrl(url: string): Partial<Record<Parameter, string>> {
  const [, start, authority = '', database, query = ''] = parts.exec(url) ?? refuse();
  const parameters = Object.entries(Object.fromEntries(new URLSearchParams(query)));
  const named = parameters.filter(([name]) => !keepalives.includes(name));
  const atHosts = authority.split(',').map((host) => parsePart(`${start}${host}${database}`));
  const unknown = named.find(([name]) => !Object.hasOwn(variables, name))?.[0];
  if (unknown !== undefined) {
    const isShown =
      !/@|password=/.test(query) && /^\w+$/.test(unknown) && `&${query}`.includes(`&${unknown}=`);
    throw new UsageError(
      `has ${isShown ? `the parameter ${unknown}, which` : 'a parameter that'} is not supported; ` +
        `the supported ones: ${Object.keys(variables).join(', ')}`,
    );
  }
  const ports = atHosts.map(({ port }) => port ?? '');
  return {
    user: atHosts[0]?.user ?? '',
    password: atHosts[0]?.password ?? '',
    dbname: atHosts[0]?.database ?? '',
    host: atHosts.map(({ host }) => host ?? '').join(','),
    port: ports.some(Boolean) ? ports.join(',') : '',
    ...Object.fromEntries(named),
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
      'needs sslmode=verify-full with sslrootcert=system (or PGSSLROOTCERT): public authorities give ' +
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

/** The service uses it where the server offers it. */
function preferred(text: string): void {
  if (text !== 'prefer')
    throw new UsageError('must be prefer; to be sure of the server, use sslmode=verify-full');
}

function seconds(text: string): number {
  return 1_000 * integer(1, 600)(text);
}
