/** Where a store is. It can be sent to another thread. */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

/** The path of the default store, in the current folder. */
export const defaultStorePath = 'data/plants.db';

/** A store in a file, or a backup. */
export function fileLocation(path: string): SqliteLocation {
  return { engine: 'sqlite', path };
}

/** A database, described as libpq does (postgresql.org/docs/current/libpq-connect.html). */
export interface PostgresLocation {
  readonly engine: 'postgres';
  /** Tried in turn until one takes writes. A leading slash marks the folder of a socket. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  /** If undefined, the password file is searched. */
  readonly password: string | undefined;
  readonly passwordFile: string | undefined;
  readonly tls: PostgresTls;
  /** Server settings of the session, such as `-c search_path=plants`. */
  readonly options: string | undefined;
  readonly applicationName: string;
  /** For one attempt to connect to one host. */
  readonly connectMs: number;
}

export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

export interface PostgresTls {
  readonly mode: TlsMode;
  /** Trusted certificates: a file; `system` for the authorities that Node trusts; or undefined. */
  readonly rootFile: string | undefined;
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

/** Endings of the files that SQLite keeps beside a database. */
export const sqliteCompanions = ['-wal', '-shm', '-journal'];

export const firstTokenName = 'first-start.token';

export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

/** Path of a server's socket (runtime-config-connection.html, unix_socket_directories). */
export function socketPath({ host: folder, port }: PostgresHost): string {
  return `${folder}/.s.PGSQL.${port}`;
}
