/**
 * Where a store is, as `--store` names it, with all that it takes to get there. It can be sent to
 * another thread.
 */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

/** A store in a file, or a backup. */
export function fileLocation(path: string): SqliteLocation {
  return { engine: 'sqlite', path };
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

export const firstTokenName = 'first-start.token';

/** Of the machine itself, where a host is the folder that a socket is in. */
export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

/** What a server calls its socket (runtime-config-connection.html, unix_socket_directories). */
export function socketPath({ host: folder, port }: PostgresHost): string {
  return `${folder}/.s.PGSQL.${port}`;
}
