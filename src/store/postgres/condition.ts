import { limits } from '../../limits.ts';
import { type StoreError, StoreOpenError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import { schemaVersion } from '../schema-version.ts';
import { openConnector } from './connector.ts';
import { sqlState, storeError } from './errors.ts';
import { within } from './pool.ts';
import { identityIn } from './reader.ts';
import { isDistributed, makeStore, refuseChangedTables, versionOf, wholeName } from './schema.ts';
import { durabilityUnder } from './session.ts';
import { testWrite } from './test-write.ts';
import type { Query } from './transaction.ts';
import { tryUpgrade } from './upgrade.ts';

/** What a database says of itself, for `doctor`. */
export type DatabaseCondition = Awaited<ReturnType<typeof conditionOfPostgres>>;

/** Privileges that the statements of this folder need. Locking a row needs UPDATE. */
const needed: Readonly<Record<string, readonly string[]>> = {
  plant_store: ['SELECT', 'UPDATE'],
  plants: ['SELECT', 'INSERT'],
  tokens: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  sessions: ['SELECT', 'INSERT', 'DELETE'],
  backups: ['SELECT', 'INSERT', 'DELETE'],
  heartbeat: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

/** Reads back what is in force, and leaves nothing. @throws StoreError, StoreOpenError */
export async function conditionOfPostgres(location: PostgresLocation) {
  const ms = limits.postgres.conditionMs;
  const connector = openConnector(location, ms, { acceptsLostCommits: true });
  const startedMs = performance.now();
  using connection = await connector.connect();
  const connectMs = performance.now() - startedMs;
  const { client, settings } = connection;
  try {
    return await within(connection, ms, async (query) => ({
      server: {
        // The host that takes writes.
        ...connection.host,
        connectMs,
        ...(await clock(query)),
        // As the server names itself, such as `PostgreSQL 18.4`.
        version: settings.version.replace(/( on | \().*/s, ''),
        pooler: settings.pooler,
        isEncrypted: 'encrypted' in client.connection.stream,
        durability: durabilityUnder(settings),
        mayTearPages: settings.fullPageWrites === 'off',
        ...(await sessions(query)),
      },
      role: await role(query),
      // Undefined without a store; an error if the store cannot be read.
      store: await storeContent(query).catch(unreadable),
    }));
  } catch (error) {
    throw storeError(error);
  }
}

/** Assumes that the database read its clock in the middle of the round trip. */
async function clock(query: Query) {
  const [askedMs, startedMs] = [Date.now(), performance.now()];
  const { rows } = await query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint');
  const roundTripMs = performance.now() - startedMs;
  return { roundTripMs, aheadMs: Number(rows[0]?.[0]) - (askedMs + roundTripMs / 2) };
}

/** Connections are those of the server, the role or the database, whichever has fewest left. */
async function sessions(query: Query) {
  const { rows } = await query(
    `WITH open AS (SELECT * FROM pg_stat_activity WHERE backend_type = 'client backend')
    SELECT EXISTS (SELECT FROM pg_stat_replication), taken, most FROM (VALUES
      ((SELECT count(*) FROM open), current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint
        - coalesce(current_setting('reserved_connections', true), '0')::bigint),
      ((SELECT count(*) FROM open WHERE usename = current_user),
        (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)),
      ((SELECT count(*) FROM open WHERE datname = current_database()),
        (SELECT datconnlimit FROM pg_database WHERE datname = current_database()))
    ) AS bounds (taken, most) WHERE most >= 0 ORDER BY most - taken LIMIT 1`,
  );
  const [hasStandby, open, max] = rows[0] as [boolean, bigint, bigint];
  return { hasStandby, connectionsOpen: Number(open), connectionsMax: Number(max) };
}

async function role(query: Query) {
  const { rows } = await query(`
    SELECT quote_ident(current_user), rolsuper FROM pg_roles WHERE rolname = current_user`);
  const [name, isSuperuser] = rows[0] as [string, boolean];
  const all = Object.entries(needed).flatMap(([table, privileges]) =>
    privileges.map((privilege) => [table, privilege] as const),
  );
  const { rows: lacking } = await query(
    `SELECT format('GRANT %s ON %s TO %I', string_agg(privilege, ', ' ORDER BY place), ${wholeName},
       current_user)
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS needed (name, privilege, place)
       JOIN pg_class ON pg_class.oid = to_regclass(name)
     WHERE NOT has_table_privilege(pg_class.oid, privilege) GROUP BY relnamespace, relname
     ORDER BY min(place)`,
    [all.map(([table]) => table), all.map(([, privilege]) => privilege)],
  );
  return { name, isSuperuser, grants: lacking.map(([grant]) => String(grant)) };
}

async function storeContent(query: Query) {
  const version = await versionOf(query);
  if (version === 0) {
    await makeStore(query, 'ROLLBACK');
    return undefined;
  }
  const isOutdated = version < schemaVersion;
  await (isOutdated ? tryUpgrade(query) : refuseChangedTables(query));
  const written = isOutdated ? undefined : await testWrite(query, true);
  const lax = query.isCitus ? (await query(laxWorkers)).rows.flat() : [];
  return {
    schemaVersion: version,
    identity: (await identityIn(query))?.identity,
    isDistributed: await isDistributed(query),
    lax,
    written,
  };
}

/** Of Citus: those that are away, or may lose what they commit. */
const laxWorkers = `SELECT format('%s:%s (%s)', nodename, nodeport, result)
  FROM run_command_on_workers('SELECT concat_ws(''/'', current_setting(''fsync''),
    current_setting(''synchronous_commit''))') WHERE result !~ '^on/(on|remote_apply)$'`;

/** A failed statement leaves the other answers; a failed connection does not. */
function unreadable(error: unknown): StoreError | StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  if (sqlState(error) === undefined) throw error;
  return storeError(error);
}
