import { limits } from '../../limits.ts';
import { type StoreError, StoreOpenError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import { schemaVersion as newestVersion } from '../schema-version.ts';
import type { CommitPromise } from '../store.ts';
import type { Connection } from './connection.ts';
import { openConnector } from './connector.ts';
import { commitPromise } from './durability.ts';
import { sqlState, storeError } from './errors.ts';
import { within } from './pool.ts';
import { type RoleCondition, roleCondition } from './role.ts';
import {
  refuseChangedTables,
  refuseHiddenSchema,
  refuseOthersTables,
  versionOf,
} from './schema.ts';
import { isDistributed } from './size.ts';
import type { Query } from './transaction.ts';

/** What a database says of itself, for `doctor`. */
export interface DatabaseCondition {
  readonly server: ServerCondition;
  readonly role: RoleCondition;
  /** Undefined without a store; an error if the store cannot be read. */
  readonly store: StoreContent | StoreError | StoreOpenError | undefined;
}

interface ServerCondition {
  /** The host that takes writes. */
  readonly host: string;
  readonly port: number;
  readonly connectMs: number;
  readonly roundTripMs: number;
  /** Clock of the database, minus the clock of this machine. */
  readonly aheadMs: number;
  readonly engine: 'PostgreSQL' | 'Citus';
  /** As the server names itself, such as `PostgreSQL 18.4`. */
  readonly version: string;
  readonly isEncrypted: boolean | undefined;
  readonly promise: CommitPromise;
  /** full_page_writes is off. */
  readonly mayTearPages: boolean;
  /** The setting synchronous_standby_names; may be empty. */
  readonly standbysDemanded: string;
  readonly standbys: readonly Standby[];
  readonly connections: { readonly used: number; readonly max: number } | undefined;
}

interface Standby {
  readonly name: string;
  /** `sync`, `quorum`, `potential` or `async`; undefined if the role may not see it. */
  readonly kind: string | undefined;
  /** WAL that the standby has not replayed. */
  readonly lagBytes: number | undefined;
}

interface StoreContent {
  readonly schemaVersion: number;
  /** On Citus: whether the plants are distributed. */
  readonly isDistributed: boolean | undefined;
}

/** Reads back what is in force, and changes nothing. @throws StoreError, StoreOpenError */
export async function conditionOfPostgres(location: PostgresLocation): Promise<DatabaseCondition> {
  const ms = limits.postgres.conditionMs;
  const connector = openConnector(location, ms);
  const startedMs = performance.now();
  const connection = await connector.connect(ms);
  const connectMs = performance.now() - startedMs;
  try {
    return await within(connection, ms, async (query) => ({
      server: await serverCondition(query, connection, connectMs),
      role: await roleCondition(query),
      store: await storeContent(query).catch(unreadable),
    }));
  } catch (error) {
    throw storeError(error);
  } finally {
    connection.destroy();
  }
}

async function serverCondition(
  query: Query,
  { client, settings }: Connection,
  connectMs: number,
): Promise<ServerCondition> {
  const extensions = (await rowsOrNone(query, 'SELECT extname FROM pg_extension')).flat();
  const engine = extensions.includes('citus') ? 'Citus' : 'PostgreSQL';
  const ssl = await rowsOrNone(query, 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
  return {
    host: client.host,
    port: client.port,
    connectMs,
    ...(await clock(query)),
    engine,
    version: settings.version.replace(/( on | \().*/s, ''),
    isEncrypted: ssl[0]?.[0] as boolean | undefined,
    promise: commitPromise(settings),
    mayTearPages: settings.fullPageWrites === 'off',
    standbysDemanded: settings.synchronousStandbyNames,
    standbys: await standbys(query),
    connections: await connections(query),
  };
}

/** Assumes that the database read its clock in the middle of the round trip. */
async function clock(query: Query): Promise<Pick<ServerCondition, 'roundTripMs' | 'aheadMs'>> {
  const [askedMs, startedMs] = [Date.now(), performance.now()];
  const { rows } = await query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint');
  const roundTripMs = performance.now() - startedMs;
  return { roundTripMs, aheadMs: Number(rows[0]?.[0]) - (askedMs + roundTripMs / 2) };
}

/** Without the privilege, a role sees only the names. */
async function standbys(query: Query): Promise<Standby[]> {
  const rows = await rowsOrNone(
    query,
    `SELECT application_name, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(),
      replay_lsn)::bigint FROM pg_stat_replication`,
  );
  return rows.map(([name, kind, lag]) => ({
    name: String(name),
    kind: kind === null ? undefined : String(kind),
    lagBytes: lag === null ? undefined : Number(lag),
  }));
}

async function connections(query: Query): Promise<ServerCondition['connections']> {
  const rows = await rowsOrNone(
    query,
    `SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
      current_setting('max_connections')::bigint -
        current_setting('superuser_reserved_connections')::bigint
        - coalesce(current_setting('reserved_connections', true), '0')::bigint`,
  );
  return rows.map(([used, max]) => ({ used: Number(used), max: Number(max) }))[0];
}

async function storeContent(query: Query): Promise<StoreContent | undefined> {
  const schemaVersion = await versionOf(query);
  if (schemaVersion === 0) {
    await refuseHiddenSchema(query);
    await refuseOthersTables(query);
    return undefined;
  }
  if (schemaVersion === newestVersion) await refuseChangedTables(query);
  return {
    schemaVersion,
    isDistributed: await isDistributed(query),
  };
}

/** A failed statement leaves the other answers; a failed connection does not. */
function unreadable(error: unknown): StoreError | StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  if (sqlState(error) === undefined) throw error;
  return storeError(error);
}

/** No rows if the role may not ask. */
async function rowsOrNone(query: Query, text: string): Promise<unknown[][]> {
  try {
    return (await query(text)).rows;
  } catch (error) {
    if (sqlState(error) === undefined) throw error;
    return [];
  }
}
