import { StoreOpenError } from '../errors.ts';
import { type ReleasedVersions, schemaVersion, unknownVersion } from '../schema-version.ts';
import { newIdentity } from '../tables/identity.ts';
import { INSUFFICIENT_PRIVILEGE, isMadeByOthers, sqlState, UNDEFINED_TABLE } from './errors.ts';
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
 * Makes missing tables. Several nodes may do this at once, and an operator may have made some.
 *
 * @returns whether this call has made the store @throws StoreOpenError
 */
export async function ensureSchema(query: Query): Promise<boolean> {
  let isNew = false;
  for (let tries = 1; (await versionOf(query)) === 0; tries += 1) {
    try {
      isNew = await makeStore(query, 'COMMIT');
    } catch (error) {
      if (tries === triesMax || !isMadeByOthers(error)) throw error;
    }
  }
  return isNew;
}

/** @param end `ROLLBACK` tries it only @throws StoreOpenError */
export async function makeStore(query: Query, end: 'COMMIT' | 'ROLLBACK'): Promise<boolean> {
  await refuseUnfitSchema(query, true);
  await refuseOthersTables(query);
  const make = async () => {
    await makeTables(query);
    const versions = [oldestVersion, schemaVersion];
    return (await query(insertRows, [...versions, newIdentity()])).rowCount === 2;
  };
  return inTransaction(query, make, end).catch(async (error) => {
    throw await refusalOfChange(query, error, 'the tables of the store cannot be made');
  });
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

/** Of a row of pg_class, in SQL: good on any search path. */
export const wholeName = "format('%s.%I', relnamespace::regnamespace, relname)";

/** The tables that the first start or an upgrade changes, if others have made the tables. */
export const changedTables = ['tokens', 'plant_store', 'plants'];

/**
 * @param says what cannot be done
 * @param otherwise what helps beside statements that give the tables to the role
 * @returns with the statements that let the role do it, if there are some
 */
export async function refusalOfChange(
  query: Query,
  error: Error & { readonly where?: string },
  says: string,
  otherwise = '',
): Promise<Error> {
  const isOwners = sqlState(error) === INSUFFICIENT_PRIVILEGE;
  if (sqlState(error) === undefined) return error;
  const values = [isOwners ? changedTables : [], error.where];
  const remedies = (await query(remediesOfRefusal, values)).rows.flat();
  if (remedies.length === 0) return error;
  const remedy = `${isOwners ? otherwise : ''}${remedies.join('; ')}`;
  return new StoreOpenError(`${says} (${error.message}); ${remedy}`, { cause: error });
}

/** Of tables of other roles, and of the event triggers whose functions have failed. */
const remediesOfRefusal = `
  SELECT format('ALTER TABLE %s OWNER TO %I', ${wholeName}, current_user)
    FROM unnest($1::text[]) AS name JOIN pg_class ON pg_class.oid = to_regclass(name)
    WHERE NOT pg_has_role(relowner, 'USAGE')
  UNION ALL SELECT format('ALTER EVENT TRIGGER %I DISABLE', evtname)
    FROM pg_event_trigger JOIN pg_proc ON pg_proc.oid = evtfoid
    WHERE evtenabled <> 'D' AND strpos($2, proname || '(') > 0`;

/**
 * The server silently skips a schema of the `search_path` that the role may not use; a store there
 * looks like no store.
 *
 * @param isToMake whether the store is to be made there
 * @throws StoreOpenError if the first schema of the path that exists is such a one, or none exists
 */
export async function refuseUnfitSchema(query: Query, isToMake: boolean): Promise<void> {
  const { rows } = await query(firstOfPath);
  const [first, role, schema, mayUse, mayCreate] = rows[0] ?? [];
  if (first === undefined)
    throw new StoreOpenError(`the search path names no schema; name a schema with ${pathOption}`);
  // Tables would be temporary: the path of each transaction ends with their schema.
  if (schema === null)
    throw new StoreOpenError(
      `the database has no schema of the search path; CREATE SCHEMA ${first} AUTHORIZATION ` +
        `${role}, or ${nameSchema}`,
    );
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

const pathOption = '?options=-csearch_path%3DSCHEMA (%22Schema%22 with capital letters)';
const nameSchema = `name another schema with ${pathOption}`;

/**
 * The first schema of the search path that exists, or else its first name. `current_schemas()`
 * lacks a schema that the role may not use.
 */
const firstOfPath = `
  SELECT name, quote_ident(current_user), quote_ident(nspname),
    has_schema_privilege(oid, 'USAGE'), has_schema_privilege(oid, 'CREATE')
  FROM regexp_matches(current_setting('search_path'), '"(?:[^"]|"")*"|[^,[:space:]]+', 'g')
      WITH ORDINALITY AS found (part, place),
    quote_ident(CASE WHEN part[1] LIKE '"%' THEN NULL ELSE lower(part[1] COLLATE "C") END) AS plain,
    replace(coalesce(plain, part[1]), '"$user"', quote_ident(current_user)) AS name
    LEFT JOIN pg_namespace ON oid = to_regnamespace(name)
  WHERE btrim(name, '"') NOT IN ('', '''''', 'pg_temp')
  ORDER BY oid IS NULL, place LIMIT 1`;

/** @throws StoreOpenError if somebody else's table has the name of one of a store */
async function refuseOthersTables(query: Query): Promise<void> {
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

/** Bytes of plants and indexes, in all partitions, and on all machines of Citus. */
export async function plantsBytes(query: Query): Promise<number> {
  const size = (await isDistributed(query))
    ? 'citus_total_relation_size'
    : 'pg_total_relation_size';
  const ofPartitions = `SELECT sum(${size}(relid)) FROM pg_partition_tree('plants') WHERE level > 0`;
  const { rows } = await query(`SELECT ${size}('plants') + coalesce((${ofPartitions}), 0)`);
  return Number(rows[0]?.[0]);
}

export async function isDistributed(query: Query): Promise<boolean | undefined> {
  if (!query.isCitus) return undefined;
  const { rows } = await query(
    "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass",
  );
  return rows.length > 0;
}
