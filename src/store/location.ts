import { dirname, join, resolve } from 'node:path';

/**
 * Where a store is, as `--store` names it, with all that it takes to get there. It can be sent to
 * another thread.
 */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

/**
 * As libpq has it (postgresql.org/docs/current/libpq-connect.html): what the URL does not say comes
 * from the PG* variables.
 */
export interface PostgresLocation {
  readonly engine: 'postgres';
  /**
   * Tried in turn, until one takes writes. A host that starts with a slash is the folder of a
   * socket.
   */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  /** Undefined if it is to be looked up in the password file. */
  readonly password: string | undefined;
  readonly passwordFile: string | undefined;
  readonly tls: PostgresTls;
  /** Of the server for the session, such as `-c search_path=plants`. */
  readonly options: string | undefined;
  readonly applicationName: string;
  /** For one try to connect to one host. */
  readonly connectMs: number;
}

export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

export interface PostgresTls {
  readonly mode: TlsMode;
  /**
   * Certificates of those who may vouch for the server: a file, or `system` for the authorities
   * that Node trusts; undefined if there is none.
   */
  readonly rootFile: string | undefined;
  /** What the client shows, if it shows something. */
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
}

export const tlsModes = [
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
] as const;
export type TlsMode = (typeof tlsModes)[number];

/**
 * What SQLite keeps beside a database. Each file is named like the database, with one of these at
 * its end.
 */
export const sqliteCompanions = ['-wal', '-shm', '-journal'];

/** As it would be typed, but without a password. */
export function locationText(location: StoreLocation): string {
  if (location.engine === 'sqlite') return `sqlite:${location.path}`;
  const hosts = location.hosts.map(({ host, port }) => `${hostText(host)}:${port}`).join(',');
  return `postgres://${encodeURIComponent(location.user)}@${hosts}/${encodeURIComponent(location.database)}`;
}

/** As people call it: an SQLite store by its whole path alone. */
export function locationName(location: StoreLocation): string {
  return location.engine === 'sqlite' ? resolve(location.path) : locationText(location);
}

/**
 * Where the first token of a store is written: beside it, or, if it is on another machine, where
 * the store would be by default.
 */
export function firstTokenFile(location: StoreLocation): string {
  return join(location.engine === 'sqlite' ? dirname(location.path) : 'data', firstTokenName);
}

export const firstTokenName = 'first-start.token';

/** Of the machine itself, where a host is the folder that a socket is in. */
export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

/** What a server calls its socket (runtime-config-connection.html, unix_socket_directories). */
export function socketPath({ host: folder, port }: PostgresHost): string {
  return `${folder}/.s.PGSQL.${port}`;
}

function hostText(host: string): string {
  if (isSocketFolder(host)) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}
