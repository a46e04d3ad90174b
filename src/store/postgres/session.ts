import { type Client, escapeIdentifier } from 'pg';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import type { Durability } from '../store.ts';
import { PROTOCOL_VIOLATION, QUERY_CANCELED, sqlState } from './errors.ts';

/** Settings of a server and a session. */
export interface SessionSettings {
  /** Such as `PostgreSQL 18.4 on x86_64…`. */
  readonly version: string;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousStandbyNames: string;
  readonly searchPath: string;
  /** Undefined if the connection leads to the server itself. Other poolers do not tell a name. */
  readonly pooler: Pooler | undefined;
  readonly isCitus: boolean;
}

type Pooler = 'PgBouncer' | 'a pooler';

/**
 * Reads the settings of a session, and leaves it as it is.
 *
 * @throws Error if the session takes no writes, unless it is for a reader
 * @param reported names of the settings that the server reported at the login, in its order
 * @throws StoreOpenError if the database cannot hold every plant, or a pooler ends transactions
 */
export async function readSession(
  client: Client & { readonly processID: number },
  options: string | undefined,
  reported: readonly string[],
  isReader: boolean,
): Promise<SessionSettings> {
  // A setting of the role in this database comes before all others of the server.
  const change = (name: string, value: string) => {
    if (options?.includes(name)) return `take ${name} out of the options of --store or PGOPTIONS`;
    const { user = '', database = '' } = client;
    const role = `${escapeIdentifier(user)} IN DATABASE ${escapeIdentifier(database)}`;
    return `BEGIN READ WRITE; ALTER ROLE ${role} SET ${name} = ${value}; COMMIT`;
  };
  const { rows } = await client.query(sessionSettings).catch((error: Error) => {
    if (sqlState(error) === QUERY_CANCELED)
      error.message += `; ${change('statement_timeout', '0')}`;
    throw error;
  });
  const [row] = rows;
  if (row === undefined) throw new Error('it does not answer as PostgreSQL does');
  const { encoding, inUtf8, isInRecovery, isReadOnly, processId, ...settings } = row;
  if (encoding !== 'UTF8') {
    throw new StoreOpenError(
      `the database has the encoding ${encoding}; make one with ` +
        `CREATE DATABASE ${inUtf8} ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
  if (isInRecovery && !isReader) throw new Error('it is a standby, which takes no writes');
  if (isReadOnly === 'on' && !isReader)
    throw new Error(`it is read-only; ${change('default_transaction_read_only', 'off')}`);
  const pooler = processId === client.processID ? undefined : poolerThat(reported);
  if (pooler) await demandTransactions(client, pooler);
  return { ...settings, pooler, searchPath: searchPathIn(options) ?? settings.searchPath };
}

/**
 * A pooler has given the client a key of its own, because the server may change. PgBouncer reports
 * what it tracks after all else; versions differ in the order of the first two.
 */
function poolerThat(reported: readonly string[]): Pooler {
  const rest = 'TimeZone standard_conforming_strings application_name';
  const isPgBouncer = ['client_encoding DateStyle', 'DateStyle client_encoding'].some((two) =>
    reported.join(' ').includes(`${two} ${rest}`),
  );
  return isPgBouncer ? 'PgBouncer' : 'a pooler';
}

async function demandTransactions(client: Client, pooler: Pooler): Promise<void> {
  try {
    await client.query('BEGIN');
    await client.query('COMMIT');
  } catch (error) {
    if (sqlState(error) !== PROTOCOL_VIOLATION) throw error;
    throw new StoreOpenError(
      `${pooler} takes no transactions (${(error as Error).message}); set pool_mode = ` +
        'transaction for this database, and reload the pooler',
      { cause: error },
    );
  }
}

/** A pooler may drop the options, or set them where another client can change them. */
function searchPathIn(options = ''): string | undefined {
  const named = [...options.matchAll(/(?:^|\s)(?:-c\s*|--)search[_-]path=((?:\\.|\S)*)/gi)];
  return named.at(-1)?.[1]?.replace(/\\(.)/g, '$1');
}

/** Without WAL senders, no commit waits, whatever the setting says. */
export const standbyNames = `CASE pg_catalog.current_setting('max_wal_senders') WHEN '0' THEN ''
  ELSE pg_catalog.current_setting('synchronous_standby_names') END`;

const sessionSettings = `SELECT version(), pg_backend_pid() AS "processId",
    current_setting('server_encoding') AS encoding,
    format('%I OWNER %I', current_database() || '_utf8', current_user) AS "inUtf8",
    pg_is_in_recovery() AS "isInRecovery",
    ${initialSetting('default_transaction_read_only')} AS "isReadOnly",
    to_regclass('pg_dist_partition') IS NOT NULL AS "isCitus",
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS "fullPageWrites",
    ${standbyNames} AS "synchronousStandbyNames",
    ${initialSetting('search_path')} AS "searchPath"`;

/** What the operator has set, whatever another client of a pooler has left in the session. */
function initialSetting(name: string): string {
  return `(SELECT reset_val FROM pg_settings WHERE name = '${name}')`;
}

/** What decides the promise of a commit. Each may change while a session goes on. */
export type DurabilitySettings = Pick<
  SessionSettings,
  'fsync' | 'fullPageWrites' | 'synchronousStandbyNames'
>;

/** Sources: runtime-config-wal.html and runtime-config-replication.html. */
export function durabilityUnder(settings: DurabilitySettings): Durability {
  const { fsync, fullPageWrites, synchronousStandbyNames: standbys } = settings;
  if (fsync === 'off')
    return {
      level: 'lost',
      disks: 0,
      says: 'with fsync=off, a crash of the machine may take any plant and damage the database',
    };
  const others = standbys
    ? `, and on the disks of as many standbys as synchronous_standby_names='${standbys}' asks for`
    : '; a standby that takes over may lack the last ones';
  return {
    level: standbys ? 'kept' : 'kept here',
    disks: 1 + standbysAskedFor(standbys),
    says:
      `each plant is on the disk of the server before it is acknowledged${others}` +
      (fullPageWrites === 'off' ? tornPages : ''),
  };
}

/** `ANY 2 (a, b, c)` asks for two, and a list without a number for one. */
function standbysAskedFor(names: string): number {
  if (names === '') return 0;
  return Number(/^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

/**
 * Refuses what was committed while the server waited for fewer standbys than `min`, and for a time
 * after that: commits wait when another process of the server, the checkpointer, has read the
 * setting, too.
 *
 * @returns a function that takes the names that were read with the transactions of some work
 */
export function standbysDemand(min: number, nowMs = () => performance.now()) {
  let fewerAtMs = Number.NEGATIVE_INFINITY;
  /** @throws StoreError */
  return (readNames: readonly string[]): void => {
    const names = readNames.find((names) => standbysAskedFor(names) < min);
    if (names !== undefined) fewerAtMs = nowMs();
    else if (nowMs() - fewerAtMs >= limits.postgres.standbysSettleMs) return;
    const waits =
      names === undefined
        ? 'the database waits for enough standbys again, and has done so for less than ' +
          `${limits.postgres.standbysSettleMs / 1_000} s`
        : 'the number of synchronous standbys that the database waits for is ' +
          `${standbysAskedFor(names)} (synchronous_standby_names='${names}')`;
    throw new StoreError('unavailable', `${waits}, and --min-standbys asks for ${min}`);
  };
}

const tornPages =
  '; full_page_writes=off is only safe on a file system that writes each page whole or not ' +
  'at all, such as ZFS';
