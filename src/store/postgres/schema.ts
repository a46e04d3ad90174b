import { commandOn } from '../command-text.ts';
import { StoreOpenError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import { isMadeByOthers, sqlState, UNDEFINED_TABLE } from './errors.ts';
import { postgresText } from './location.ts';
import { definitionsOf, schemaDifference, type Table } from './schema-comparison.ts';
import { inTransaction, type Query } from './transaction.ts';

/** The version that this program writes. */
export const schemaVersion = 7;

/** The first version that has the table of jobs. */
export const jobsSince = 3;

/**
 * The columns of SQLite; the first is the primary key. `plant_store` has one row, which is inserted
 * last: a schema with the row is complete. Changes of tokens, sessions and backups lock the row.
 */
const tables: Readonly<Record<string, Table>> = {
  plant_store: { columns: { id: 'bigint', schema_version: 'bigint' } },
  plants: {
    columns: {
      id: 'bigint',
      name: 'text',
      tag: 'text',
      created_at: 'bigint',
      created_by: 'bigint',
    },
    nullable: ['tag'],
  },
  tokens: {
    columns: {
      id: 'bigint',
      name: 'text',
      hash: 'bytea',
      role: 'text',
      created_at: 'bigint',
      expires_at: 'bigint',
      revoked_at: 'bigint',
      last_used_at: 'bigint',
      rate_per_day: 'bigint',
      burst: 'bigint',
      made_by: 'text',
      revoked_by: 'text',
    },
    nullable: [
      'expires_at',
      'revoked_at',
      'last_used_at',
      'rate_per_day',
      'burst',
      'made_by',
      'revoked_by',
    ],
  },
  sessions: { columns: { hash: 'bytea', token_id: 'bigint', expires_at: 'bigint' } },
  backups: {
    columns: {
      id: 'bigint',
      file: 'text',
      finished_at: 'bigint',
      plants: 'bigint',
      digest: 'text',
    },
  },
  heartbeat: { columns: { node: 'bigint', beaten_at: 'bigint' } },
  jobs: {
    columns: {
      name: 'text',
      ran_at: 'bigint',
      fault: 'text',
      succeeded_at: 'bigint',
      took_ms: 'bigint',
    },
    nullable: ['fault', 'succeeded_at', 'took_ms'],
  },
  history: {
    columns: {
      minute_at: 'bigint',
      node: 'bigint',
      started_at: 'bigint',
      created: 'bigint',
      same: 'bigint',
      taken: 'bigint',
      failed: 'bigint',
      refused: 'bigint',
      refusals: 'text',
      refused_senders: 'text',
      p50_us: 'bigint',
      p99_us: 'bigint',
      queue_plants: 'bigint',
      connections: 'bigint',
      stopped_at: 'bigint',
    },
    key: ['minute_at', 'node'],
    nullable: ['refusals', 'refused_senders', 'p50_us', 'p99_us', 'stopped_at'],
  },
};

const indexes: Readonly<Record<string, string>> = {
  tokens_hash: 'tokens (hash)',
  tokens_name_in_force: 'tokens (name) WHERE revoked_at IS NULL',
};

/** Attempts to make the tables while other nodes make them, too. */
const triesMax = 5;

/**
 * Makes missing tables. Several nodes may do this at once, and an operator may have made some tables
 * in order to distribute them.
 *
 * @returns whether this call has made the store
 * @throws StoreOpenError
 */
export async function ensureSchema(query: Query): Promise<boolean> {
  let isNew = false;
  for (let tries = 1; (await versionOf(query)) === 0; tries += 1) {
    await refuseHiddenSchema(query);
    await refuseOthersTables(query);
    try {
      isNew = await inTransaction(query, () => makeTables(query));
    } catch (error) {
      if (tries === triesMax || !isMadeByOthers(error)) throw error;
    }
  }
  return isNew;
}

/** @throws StoreOpenError for the store of an earlier version, which only some commands can read */
export function demandNewest(version: number, location: PostgresLocation): void {
  if (version === schemaVersion) return;
  throw new StoreOpenError(
    `the store in the database is of an earlier plant-store (schema ${version}); ${commandOn(postgresText(location), 'serve')} upgrades it`,
  );
}

/** @returns false if another node has made the store */
async function makeTables(query: Query): Promise<boolean> {
  for (const name of Object.keys(tables)) await query(createTable(name));
  for (const [name, on] of Object.entries(indexes))
    await query(`CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${on}`);
  const insert =
    'INSERT INTO plant_store (id, schema_version) VALUES (1, $1) ON CONFLICT (id) DO NOTHING';
  return (await query(insert, [schemaVersion])).rowCount === 1;
}

export function createTable(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (${definitionsOf(tables[name] as Table).join(', ')})`;
}

/** 0 if there is no store yet. @throws StoreOpenError if a later version has made it */
export async function versionOf(query: Query): Promise<number> {
  const version = await readVersion(query);
  if (version <= schemaVersion) return version;
  throw new StoreOpenError(
    `the store in the database was made by a newer plant-store (schema ${version}, this one knows ${schemaVersion}); run that version or a later one`,
  );
}

async function readVersion(query: Query): Promise<number> {
  try {
    const { rows } = await query('SELECT schema_version FROM plant_store WHERE id = 1');
    return Number(rows[0]?.[0] ?? 0);
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return 0;
    throw error;
  }
}

/**
 * The server silently skips a schema of the `search_path` that the role may not use; a store there
 * looks like no store.
 *
 * @throws StoreOpenError if such a schema comes before the first usable one, or none is there
 */
export async function refuseHiddenSchema(query: Query): Promise<void> {
  const rows = await searchPath(query);
  // Tables would be temporary: the path of each transaction ends with their schema.
  if (rows.length === 0)
    throw new StoreOpenError(
      'the database has no schema of the search path; CREATE SCHEMA, or name another with ?options=-csearch_path%3DSCHEMA',
    );
  const usable = rows.findIndex(({ mayUse }) => mayUse);
  const hidden = (usable < 0 ? rows : rows.slice(0, usable))[0];
  if (hidden === undefined) return;
  const { schema, role } = hidden;
  throw new StoreOpenError(
    `the role ${role} may not look into the schema ${schema}, so it cannot be told whether there is a store; GRANT USAGE ON SCHEMA ${schema} TO ${role}, or name another role or schema with --store`,
  );
}

interface SearchedSchema {
  readonly schema: string;
  readonly role: string;
  readonly mayUse: boolean;
}

/** Existing schemas of the search path, in order. */
async function searchPath(query: Query): Promise<SearchedSchema[]> {
  try {
    const { rows: settings } = await query(
      "SELECT current_setting('search_path'), current_user::text",
    );
    const [path, role] = settings[0] as [string, string];
    const names = path.match(/"(?:[^"]|"")*"|[^,\s]+/g) ?? [];
    const schemas = names.map((name) =>
      name === '"$user"' ? role : name.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'),
    );
    const { rows } = await query(
      `SELECT nspname::text, has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ANY ($1::text[])
       ORDER BY array_position($1::text[], nspname::text)`,
      [schemas],
    );
    return rows.map(([schema, mayUse]) => ({ schema, role, mayUse }));
  } catch (error) {
    // An engine that has no such functions.
    if (sqlState(error) === undefined) throw error;
    return [];
  }
}

/** @throws StoreOpenError if somebody else's table has the name of one of a store */
export async function refuseOthersTables(query: Query): Promise<void> {
  const difference = await schemaDifference(query, tables, Object.keys(indexes), false);
  if (difference === undefined) return;
  throw new StoreOpenError(
    `the database has a table ${difference.table} that is not of a plant store (${difference.says}); name a database of its own with --store, or a schema of its own with ?options=-csearch_path%3DSCHEMA`,
  );
}

/** @throws StoreOpenError if a table of a store of this version is not as this program makes it */
export async function refuseChangedTables(query: Query): Promise<void> {
  const difference = await schemaDifference(query, tables, Object.keys(indexes), true);
  if (difference === undefined) return;
  throw new StoreOpenError(
    `the table ${difference.table} of the store is not as this plant-store makes it (${difference.says}); change it back, or copy the plants to a new store`,
  );
}
