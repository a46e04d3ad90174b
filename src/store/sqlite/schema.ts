import { DatabaseSync } from 'node:sqlite';
import { StoreOpenError } from '../errors.ts';

/** Marks the file as a plant store in its header: "Plnt". */
export const applicationId = 0x506c6e74;

/**
 * The history of the schema. Each step leads to the next version, and never changes after its
 * release. A new store takes all steps; an older store takes the missing ones.
 *
 * Times are milliseconds since the epoch. `created_by` is the id of a token, 0 for the fixed token,
 * or -1 for `import`. A subject that was forgotten leaves its id in its plants.
 *
 * Each row of `arrivals` has the ids of the plants that one transaction stored, as int64 in
 * little-endian order. Its times never go back: while the clock is behind, those of the plants are
 * earlier, and a search for new plants still finds all that came before. In a store that an earlier version has made, the first row has no ids, and
 * tells when the journal began: a service of the earlier version may go on for a while without it.
 *
 * `history.refusals` is a JSON object with the number for each error code, and `refused_senders` the
 * same for names of tokens. `stopped_at` is 0 in a minute in which the service was not stopped.
 *
 * `tokens.made_by` is not `created_by`: a service of an earlier version joins tokens with plants, and
 * that name would be ambiguous to it.
 */
const steps: readonly string[] = [
  `CREATE TABLE plants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    tag TEXT,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX tokens_name_in_force ON tokens (name) WHERE revoked_at IS NULL;
  PRAGMA application_id = ${applicationId};`,

  `CREATE TABLE backups (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    finished_at INTEGER NOT NULL,
    plants INTEGER NOT NULL,
    digest TEXT NOT NULL
  ) STRICT;`,

  `CREATE TABLE heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    beaten_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    token_id INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;`,

  `ALTER TABLE tokens ADD COLUMN rate_per_day INTEGER;
  ALTER TABLE tokens ADD COLUMN burst INTEGER;`,

  `CREATE TABLE arrivals (
    seq INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    ids BLOB NOT NULL
  ) STRICT;
  INSERT INTO arrivals (created_at, ids)
    SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER), x''
    WHERE EXISTS (SELECT * FROM plants) OR EXISTS (SELECT * FROM tokens) OR EXISTS (SELECT * FROM heartbeat);
  CREATE TABLE jobs (
    name TEXT PRIMARY KEY,
    ran_at INTEGER NOT NULL,
    fault TEXT,
    succeeded_at INTEGER,
    took_ms INTEGER
  ) STRICT;`,

  `CREATE TABLE history (
    minute_at INTEGER NOT NULL,
    node INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    created INTEGER NOT NULL,
    same INTEGER NOT NULL,
    taken INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    p50_us INTEGER,
    p99_us INTEGER,
    queue_plants INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    PRIMARY KEY (minute_at, node)
  ) STRICT;`,

  `ALTER TABLE history ADD COLUMN refusals TEXT;
  ALTER TABLE history ADD COLUMN refused_senders TEXT;`,

  `ALTER TABLE tokens ADD COLUMN made_by TEXT;
  ALTER TABLE tokens ADD COLUMN revoked_by TEXT;`,

  'ALTER TABLE history ADD COLUMN stopped_at INTEGER',
];

/** The version that this program writes. It reads older ones, too. */
export const schemaVersion = steps.length;

/** The first version that has the table of backups. */
export const backupsSince = 2;
/** The first version that has the table of heartbeats. */
export const heartbeatSince = 3;

/** The first version that has the journal of arrivals, and the table of jobs. */
export const arrivalsSince = 5;

/** Migrates from a version (0 is an empty file). Call it in a transaction. */
export function migrate(db: DatabaseSync, from: number): void {
  for (const step of steps.slice(from)) db.exec(step);
  db.exec(`PRAGMA user_version = ${schemaVersion}`);
}

/**
 * Compares the tables and indexes of this program with those that the version of the file has.
 * Other tables may stand beside them.
 *
 * @returns a clause that names each difference; undefined if the schema is right
 */
export function schemaFaultOf(db: DatabaseSync): string | undefined {
  const id = pragma(db, 'application_id');
  if (id !== applicationId) return `the application_id is ${id}`;
  const version = pragma(db, 'user_version');
  if (version < 1 || version > schemaVersion) return `the schema version is ${version}`;
  const found = schemaOf(db);
  const expected = schemaAt(version);
  const names = new Set([...expected.keys(), ...schemaAt(schemaVersion).keys()]);
  const wrong = [...names].flatMap((name) => [
    ...without(expected.get(name), found.get(name)).map((part) => `${name} lacks "${part}"`),
    ...without(found.get(name), expected.get(name)).map((part) => `${name} has "${part}"`),
  ]);
  return wrong.length === 0 ? undefined : wrong.join(', ');
}

/** @throws StoreOpenError if the tables differ from those of the store's version */
export function refuseSchemaFault(db: DatabaseSync, path: string): void {
  const fault = schemaFaultOf(db);
  if (fault === undefined) return;
  throw new StoreOpenError(
    `the tables of the store at ${path} are not those of its version: ${fault}; choose another file with --store, or put a backup in its place`,
  );
}

/** @throws StoreOpenError for a database of another program; errors of SQLite for a damaged store */
export function refuseForeign(db: DatabaseSync, path: string): void {
  if (pragma(db, 'application_id') === applicationId) return;
  const names = [...schemaOf(db).keys()].filter((name) => !name.startsWith('_litestream_'));
  if (names.length === 0 || names.includes('plants')) return;
  throw foreignError(path);
}

function foreignError(path: string): StoreOpenError {
  return new StoreOpenError(
    `${path} is an SQLite database of another program, not a plant store; choose another file with --store`,
  );
}

/** The parts of each table and index, by its name. */
function schemaOf(db: DatabaseSync): Map<string, string[]> {
  const rows = db.prepare('SELECT name, sql FROM sqlite_schema').all();
  return new Map(rows.map(({ name, sql }) => [`${name}`, partsOf(`${sql ?? 'an index'}`)]));
}

/** What stands around the columns, and each column and constraint, in one spelling. */
function partsOf(sql: string): string[] {
  const plain = sql.replaceAll(/["`[\]]/g, '').replaceAll(/\s+/g, ' ');
  const [, head = plain, columns, tail = ''] = /^([^(]*)\((.*)\)([^)]*)$/.exec(plain) ?? [];
  const parts = columns?.split(/,(?![^(]*\))/) ?? [];
  return [`${head.trim()} ${tail.trim()}`, ...parts].map((part) => part.trim());
}

function without(parts: readonly string[] = [], others: readonly string[] = []): string[] {
  const there = new Set(others.map((part) => part.toLowerCase()));
  return parts.filter((part) => !there.has(part.toLowerCase()));
}

function schemaAt(version: number): Map<string, string[]> {
  using db = new DatabaseSync(':memory:');
  for (const step of steps.slice(0, version)) db.exec(step);
  return schemaOf(db);
}

/** 0 for an empty file. @throws StoreOpenError for a newer schema, or a file of another program */
export function schemaVersionOf(db: DatabaseSync, path: string): number {
  const id = pragma(db, 'application_id');
  const version = pragma(db, 'user_version');
  if (id === applicationId && version > 0 && version <= schemaVersion) return version;
  if (id === applicationId && version > 0) {
    throw new StoreOpenError(
      `the store at ${path} was made by a newer plant-store (schema ${version}, this one knows ${schemaVersion}); run that version or a later one`,
    );
  }
  // Litestream may find the empty file first, and keeps tables in the file that it follows.
  const foreign = "SELECT 1 FROM sqlite_schema WHERE name NOT GLOB '_litestream_*'";
  if ((id === 0 || id === applicationId) && db.prepare(foreign).get() === undefined) return 0;
  // Another process may have made the store between the two reads.
  if (id === 0 && pragma(db, 'application_id') === applicationId) return schemaVersionOf(db, path);
  throw foreignError(path);
}

/** The value of a pragma that has a number. */
export function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
