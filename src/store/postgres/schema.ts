import { StoreOpenError } from '../errors.ts';
import { newIdentity } from '../identity.ts';
import { type ReleasedVersions, schemaVersion, unknownVersion } from '../schema-version.ts';
import { isMadeByOthers, sqlState, UNDEFINED_TABLE } from './errors.ts';
import { schemaDifference } from './schema-comparison.ts';
import { inTransaction, type Query } from './transaction.ts';

/** `upgradePostgres` adds what it lacks. */
export const releasedVersions: ReleasedVersions = { '1.1.0': 1, '2.0.0': 10 };

/** Programs of this version and later can use the tables: what came since then only adds. */
const oldestVersion = 1;

/**
 * The columns of SQLite. `plant_store` has two rows, which are inserted last: a schema with rows is
 * complete. Row 1 has the oldest version whose programs can use the tables, and the identity of the
 * store; changes of tokens, sessions and backups lock the row. Row 2 has the version of the tables,
 * if it is another.
 */
const tables: Readonly<Record<string, string>> = {
  plant_store: `id bigint NOT NULL, schema_version bigint NOT NULL, identity text,
    decided_at bigint, restored text, PRIMARY KEY (id)`,
  plants: `id bigint NOT NULL, name text NOT NULL, tag text, created_at bigint NOT NULL,
    created_by bigint NOT NULL, PRIMARY KEY (id)`,
  tokens: `id bigint NOT NULL, name text NOT NULL, hash bytea NOT NULL, role text NOT NULL,
    created_at bigint NOT NULL, expires_at bigint, revoked_at bigint, last_used_at bigint,
    rotated_at bigint, rate_per_day bigint, burst bigint, made_by text, revoked_by text,
    PRIMARY KEY (id)`,
  sessions: `hash bytea NOT NULL, token_id bigint NOT NULL, expires_at bigint NOT NULL,
    PRIMARY KEY (hash)`,
  backups: `id bigint NOT NULL, file text NOT NULL, finished_at bigint NOT NULL,
    plants bigint NOT NULL, digest text NOT NULL, PRIMARY KEY (id)`,
  heartbeat: 'node bigint NOT NULL, beaten_at bigint NOT NULL, PRIMARY KEY (node)',
};

const uniqueIndexes: Readonly<Record<string, string>> = {
  tokens_hash: 'tokens (hash)',
  tokens_name_in_force: 'tokens (name) WHERE revoked_at IS NULL AND rotated_at IS NULL',
};

/** Of plants, newest first. An upgrade builds it beside creates. */
export const newestIndex = { name: 'plants_newest', columns: 'created_at, id' };

/** Attempts to make the tables while other nodes make them, too. */
const triesMax = 5;

/**
 * Makes missing tables. Several nodes may do this at once, and an operator may have made some
 * tables in order to distribute them.
 *
 * @returns whether this call has made the store
 * @throws StoreOpenError
 */
export async function ensureSchema(query: Query): Promise<boolean> {
  let isNew = false;
  for (let tries = 1; (await versionOf(query)) === 0; tries += 1) {
    await refuseUnfitSchema(query, true);
    await refuseOthersTables(query);
    try {
      isNew = await inTransaction(query, async () => {
        await makeTables(query);
        const versions = [oldestVersion, schemaVersion];
        return (await query(insertRows, [...versions, newIdentity()])).rowCount === 2;
      });
    } catch (error) {
      if (tries === triesMax || !isMadeByOthers(error)) throw error;
    }
  }
  return isNew;
}

const insertRows = `INSERT INTO plant_store (id, schema_version, identity)
  VALUES (1, $1, $3), (2, $2, NULL) ON CONFLICT (id) DO NOTHING`;

export async function makeTables(query: Query): Promise<void> {
  for (const [name, definitions] of Object.entries(tables))
    await query(`CREATE TABLE IF NOT EXISTS ${name} (${definitions})`);
  for (const [name, on] of Object.entries(uniqueIndexes))
    await query(`CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${on}`);
  const { name, columns } = newestIndex;
  await query(`CREATE INDEX IF NOT EXISTS ${name} ON plants (${columns})`);
}

/** 0 if there is no store yet. @throws StoreOpenError for an unknown schema */
export async function versionOf(query: Query): Promise<number> {
  const select = 'SELECT schema_version FROM plant_store WHERE id IN (1, 2) ORDER BY id';
  const found = await query(select).catch((error) => {
    if (sqlState(error) !== UNDEFINED_TABLE) throw error;
  });
  const [demanded = 0, version = demanded] = found?.rows.map(([value]) => Number(value)) ?? [];
  const fault = version > 0 ? unknownVersion(version, releasedVersions, demanded) : undefined;
  if (fault === undefined) return version;
  throw new StoreOpenError(`the store in the database ${fault}`);
}

/**
 * The server silently skips a schema of the `search_path` that the role may not use; a store there
 * looks like no store.
 *
 * @param isToMake whether the store is to be made there
 * @throws StoreOpenError if the first schema of the path that exists is such a one, or none exists
 */
export async function refuseUnfitSchema(query: Query, isToMake: boolean): Promise<void> {
  const session = await query(
    "SELECT current_setting('search_path'), current_user::text, quote_ident(current_user)",
  );
  const [path, user, role] = session.rows[0] as [string, string, string];
  const names = path.match(/"(?:[^"]|"")*"|[^,\s]+/g) ?? [];
  const schemas = names.map((name) =>
    name === '"$user"' ? user : name.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'),
  );
  const { rows } = await query(
    `SELECT quote_ident(nspname), has_schema_privilege(oid, 'USAGE'),
       has_schema_privilege(oid, 'CREATE') FROM pg_namespace
     WHERE nspname = ANY ($1::text[]) ORDER BY array_position($1::text[], nspname::text) LIMIT 1`,
    [schemas],
  );
  const [schema, mayUse, mayCreate] = rows[0] ?? [];
  // Tables would be temporary: the path of each transaction ends with their schema.
  if (schema === undefined) {
    const first = (names[0] ?? 'SCHEMA').replace('"$user"', role);
    throw new StoreOpenError(
      `the database has no schema of the search path; CREATE SCHEMA ${first} AUTHORIZATION ` +
        `${role}, or ${nameSchema}`,
    );
  }
  if (!mayUse)
    throw new StoreOpenError(
      `the role ${role} may not look into the schema ${schema}, so it cannot be told whether ` +
        `there is a store; GRANT USAGE ON SCHEMA ${schema} TO ${role}, or ${nameSchema}`,
    );
  if (isToMake && !mayCreate)
    throw new StoreOpenError(
      `there is no store yet, and the role ${role} may not make one; GRANT CREATE ON SCHEMA ` +
        `${schema} TO ${role}, or ${nameSchema}`,
    );
}

const nameSchema = 'name another schema with ?options=-csearch_path%3DSCHEMA';

/** @throws StoreOpenError if somebody else's table has the name of one of a store */
export async function refuseOthersTables(query: Query): Promise<void> {
  const difference = await schemaDifference(query, tables, Object.keys(uniqueIndexes), false);
  if (difference === undefined) return;
  throw new StoreOpenError(
    `the database has a table ${difference.table} that is not of a plant store ` +
      `(${difference.says}); name a database of its own with --store, or a schema of its own ` +
      'with ?options=-csearch_path%3DSCHEMA',
  );
}

/** @throws StoreOpenError if a table of a store of this version is not as this program makes it */
export async function refuseChangedTables(query: Query): Promise<void> {
  const difference = await schemaDifference(query, tables, Object.keys(uniqueIndexes), true);
  if (difference === undefined) return;
  throw new StoreOpenError(
    `the table ${difference.table} of the store is not as this plant-store makes it ` +
      `(${difference.says}); change it back, or copy the plants to a new store`,
  );
}
