import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { PostgresLocation } from '../location.ts';
import { schemaVersion, tokenUpgrade, versionOfTwo } from '../schema-version.ts';
import { newIdentity } from '../tables/identity.ts';
import { openConnector } from './connector.ts';
import {
  DEADLOCK_DETECTED,
  FEATURE_NOT_SUPPORTED,
  INSUFFICIENT_PRIVILEGE,
  LOCK_NOT_AVAILABLE,
  sqlState,
  storeError,
} from './errors.ts';
import { runOnce, within } from './pool.ts';
import {
  changedTables,
  makeTables,
  newestIndex,
  refusalOfChange,
  refuseChangedTables,
  versionOf,
} from './schema.ts';
import { inTransaction, type Query } from './transaction.ts';

export async function isThereInPostgres(location: PostgresLocation): Promise<boolean> {
  return (await runOnce(location, limits.postgres.upgradeStepMs, versionOf)) > 0;
}

/** @returns the version of an older schema; otherwise undefined @throws StoreOpenError */
export async function outdatedPostgres(location: PostgresLocation): Promise<number | undefined> {
  const version = await runOnce(location, limits.postgres.upgradeStepMs, versionOf);
  return version === 0 || version >= schemaVersion ? undefined : version;
}

/** Told of a session for which the build of the index waits, as long as it waits. */
export type OnWait = (session: string) => void;

/**
 * Builds the index of plants beside running services, and upgrades the tables in one transaction.
 * A statement that waits for a lock on a table holds up all later readers of the table, so it gives
 * up after `limits.postgres.upgradeLockMs`. Services of an earlier version go on, and can start.
 *
 * @returns if the tables are in use, by which sessions
 * @throws StoreOpenError, StoreError
 */
export async function upgradePostgres(
  location: PostgresLocation,
  onWait: OnWait,
): Promise<string | undefined> {
  await runOnce(location, limits.postgres.upgradeStepMs, tryUpgrade);
  const readers = await buildIndex(location, onWait);
  if (readers !== undefined) return readers;
  return runOnce(location, limits.postgres.upgradeStepMs, async (query) => {
    try {
      await inTransaction(query, () => upgradeTables(query));
      return undefined;
    } catch (cause) {
      if (sqlState(cause) !== LOCK_NOT_AVAILABLE) throw cause;
      return (
        (await sessionsOnTables(query, limits.postgres.upgradeLockMs)) ??
        'a session that has ended meanwhile'
      );
    }
  });
}

/** Changes nothing, with locks that hold up no create. @throws StoreOpenError if the role may not */
export async function tryUpgrade(query: Query): Promise<void> {
  const change = async () => {
    await query(`SET LOCAL lock_timeout = ${limits.postgres.upgradeLockMs}`);
    for (const table of changedTables)
      await query(`ALTER TABLE ${table} ALTER COLUMN id SET STATISTICS -1`);
  };
  await inTransaction(query, change, 'ROLLBACK').catch(async (error) => {
    const state = sqlState(error);
    // Another session, such as another upgrade, has a table. Citus lets no table of its own try.
    if (state === LOCK_NOT_AVAILABLE || state === FEATURE_NOT_SUPPORTED) return;
    throw await refusalOfChange(
      query,
      error,
      'the store in the database is of an earlier plant-store, and its tables cannot be changed',
      'run "plant-store upgrade" with the role that owns the tables, or ',
    );
  });
}

const addIdentity = `ALTER TABLE plant_store ADD COLUMN identity text,
  ADD COLUMN decided_at bigint, ADD COLUMN restored text`;

async function upgradeTables(query: Query): Promise<void> {
  await query(`SET LOCAL lock_timeout = ${limits.postgres.upgradeLockMs}`);
  await query('SELECT id FROM plant_store WHERE id = 1 FOR UPDATE');
  const version = await versionOf(query);
  if (version < versionOfTwo)
    for (const statement of tokenUpgrade('bigint', 'text')) await query(statement);
  if (version < schemaVersion) {
    await query(addIdentity);
    await query('UPDATE plant_store SET identity = $1 WHERE id = 1', [newIdentity()]);
    await makeTables(query);
  }
  await refuseChangedTables(query);
  await query(
    `INSERT INTO plant_store (id, schema_version) VALUES (2, $1)
     ON CONFLICT (id) DO UPDATE SET schema_version = excluded.schema_version`,
    [schemaVersion],
  );
}

/**
 * Builds an index without stopping creates: an index that is built in a transaction stops them. A
 * build that was cut leaves an index that is not valid. The transaction makes the index where the
 * server builds none beside creates, such as for a partitioned table.
 *
 * @returns the sessions whose snapshots the build would wait for, such as that of `pg_dump`
 */
async function buildIndex(location: PostgresLocation, onWait: OnWait): Promise<string | undefined> {
  const { upgradeStepMs: ms, upgradePauseMs } = limits.postgres;
  using connection = await openConnector(location, ms, { acceptsLostCommits: true }).connect();
  const { client, settings } = connection;
  let told: string | undefined;
  const tell = (session: string | undefined) => {
    if (session !== undefined && session !== told) onWait(session);
    told = session;
  };
  try {
    return await within(connection, ms, async (query) => {
      // For statements outside of transactions. In a session of a pooler, the setting would stay.
      if (settings.pooler === undefined) await client.query('SET statement_timeout = 0');
      for (;;) {
        const { rows } = await query(indexOfPlants);
        const [isValid, isBuilt, drop, create] = rows[0] ?? [true];
        if (isValid) return undefined;
        if (isBuilt) {
          await delay(upgradePauseMs);
          continue;
        }
        const readers = await sessionsOnTables(query, upgradePauseMs, 'backend_xmin');
        if (readers) return readers;
        // A session may have begun a moment ago. A look that fails does not stop the build.
        const look = () => void runOnce(location, ms, waitedFor).then(tell, () => undefined);
        const watch = setInterval(look, upgradePauseMs);
        await client
          .query(isValid === false ? drop : create)
          .catch(passDeadlock)
          .finally(() => clearInterval(watch));
      }
    });
  } catch (error) {
    // Another client of a pooler may have left its role in the session.
    const mayPass = [FEATURE_NOT_SUPPORTED, INSUFFICIENT_PRIVILEGE].includes(sqlState(error) ?? '');
    if (!mayPass) throw storeError(error);
    return undefined;
  }
}

/** Outside of a transaction the search path is another: the statements name the schema. */
const indexOfPlants = `
  SELECT (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${newestIndex.name}')),
    EXISTS (SELECT FROM pg_stat_progress_create_index WHERE relid = plants.oid),
    format('DROP INDEX CONCURRENTLY IF EXISTS %I.${newestIndex.name}', nspname),
    format('CREATE INDEX CONCURRENTLY IF NOT EXISTS ${newestIndex.name}
      ON %I.plants (${newestIndex.columns})', nspname)
  FROM pg_class AS plants JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE plants.oid = to_regclass('plants')`;

/** Another node builds the index at the same moment. */
function passDeadlock(error: unknown): void {
  if (sqlState(error) !== DEADLOCK_DETECTED) throw error;
}

/**
 * Sessions whose transactions are older, the oldest first; unknown times count as older.
 *
 * @param known a column that such a session has
 */
async function sessionsOnTables(
  query: Query,
  ageMs: number,
  known = 'pid',
): Promise<string | undefined> {
  const { rows } = await query(
    `SELECT DISTINCT ${sessionText}, xact_start
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE granted AND ${known} IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
       AND relation IN (to_regclass('plant_store'), to_regclass('tokens'), to_regclass('plants'))
       AND coalesce(xact_start < clock_timestamp() - $1 * interval '1 ms', true)
     ORDER BY xact_start NULLS FIRST LIMIT 3`,
    [ageMs],
  );
  return rows.length > 0 ? rows.map(([session]) => session).join(', ') : undefined;
}

/** The session whose end the build of an index of plants waits for. */
async function waitedFor(query: Query): Promise<string | undefined> {
  const { rows } = await query(
    `SELECT ${sessionText} FROM pg_stat_activity
     WHERE pid IN (SELECT current_locker_pid FROM pg_stat_progress_create_index
       WHERE relid = to_regclass('plants'))`,
  );
  return rows[0]?.[0];
}

/** Of a row of pg_stat_activity, in SQL. */
const sessionText = `format('process %s (%s, user %s%s)', pid,
  coalesce(nullif(application_name, ''), 'without a name'), usename,
  to_char(query_start AT TIME ZONE 'UTC', '", whose query began at "YYYY-MM-DD"T"HH24:MI:SS"Z"'))`;
