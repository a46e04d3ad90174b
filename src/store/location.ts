/** Where a store is. It can be sent to another thread. */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly engine: 'sqlite';
  readonly path: string;
}

/** The path of the default store, in the current folder. */
export const defaultStorePath = 'data/plants.db';

export function fileLocation(path: string): SqliteLocation {
  return { engine: 'sqlite', path };
}

/** A database, described as libpq does (postgresql.org/docs/current/libpq-connect.html). */
export interface PostgresLocation {
  readonly engine: 'postgres';
  /** As it was given, with the password. */
  readonly url: string;
  /** Tried in turn until one takes writes. A leading slash marks the folder of a socket. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string;
  /** If undefined, the password file is searched. */
  readonly password: string | undefined;
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

/** Files, under the names of libpq. Without `sslrootcert`, public authorities are trusted. */
export interface PostgresTls {
  readonly sslmode: (typeof tlsModes)[number];
  readonly sslrootcert: string | undefined;
  readonly sslcert: string | undefined;
  readonly sslkey: string | undefined;
}

export const tlsModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

/** Endings of the files that SQLite keeps beside a database. */
export const sqliteCompanions = ['-wal', '-shm', '-journal'];

/** Ending of the file with notes about failed syncs, beside a store. */
export const syncNotesEnding = '-sync';

export const manifestEnding = '.manifest.json';

/** Of all files beside a store or a backup that belong to it. */
export const companionEndings = [...sqliteCompanions, syncNotesEnding, manifestEnding];

export const firstTokenName = 'first-start.token';

/** The location as a URL without a password, with the parameters that lead to the store. */
export function shownUrl({ hosts, user, database, tls, options }: PostgresLocation): string {
  const hostList = hosts.map(({ host, port }) => `${hostText(host)}:${port}`).join(',');
  const named = Object.entries({ ...tls, options }).filter(([, value]) => value);
  const parameters = new URLSearchParams(named as [string, string][]);
  parameters.delete('sslmode', 'prefer');
  const place = `${encodeURIComponent(user)}@${hostList}/${encodeURIComponent(database)}`;
  return `postgres://${place}${parameters.size > 0 ? `?${parameters}` : ''}`;
}

function hostText(host: string): string {
  if (isSocketFolder(host)) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}

export function isSocketFolder(host: string): boolean {
  return host.startsWith('/');
}

/** For another process of the program. Arguments would show the password to other users. */
export function settingOf(location: StoreLocation): { readonly PLANT_STORE_STORE: string } {
  return {
    PLANT_STORE_STORE: location.engine === 'postgres' ? location.url : `sqlite:${location.path}`,
  };
}
