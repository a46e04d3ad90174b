import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { shellQuoted } from '../command-text.ts';
import type { FoundTriggers } from '../engine.ts';
import { StoreOpenError } from '../errors.ts';
import { type ReleasedVersions, schemaVersion, unknownVersion } from '../schema-version.ts';
import { newIdentity } from '../tables/identity.ts';

/** Marks the file as a plant store in its header: "Plnt". */
export const applicationId = 0x506c6e74;

/** `upgradeSqlite` adds what they lack. */
export const releasedVersions: ReleasedVersions = { '1.0.0': 1, '1.1.0': 3, '2.0.0': 10 };

/**
 * Times are milliseconds since the epoch. `created_by` is the id of a token, 0 for the fixed token,
 * or -1 for `import`. A subject that was forgotten leaves its id in its plants.
 *
 * Each row of `arrivals` has the ids of the plants that one transaction stored, as int64 in
 * little-endian order. Its times never go back: while the clock is behind, those of the plants are
 * earlier.
 *
 * `tokens.made_by` is not `created_by`: a service of an earlier version joins tokens with plants,
 * and that name would be ambiguous to it.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS plants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    tag TEXT,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS tokens (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    rotated_at INTEGER,
    rate_per_day INTEGER,
    burst INTEGER,
    made_by TEXT,
    revoked_by TEXT
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS tokens_name_in_force ON tokens (name)
    WHERE revoked_at IS NULL AND rotated_at IS NULL;
  CREATE TABLE IF NOT EXISTS backups (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    finished_at INTEGER NOT NULL,
    plants INTEGER NOT NULL,
    digest TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS heartbeat (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    beaten_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS sessions (
    hash BLOB PRIMARY KEY,
    token_id INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS arrivals (
    seq INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    ids BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS plant_store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    identity TEXT NOT NULL,
    decided_at INTEGER,
    restored TEXT
  ) STRICT;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};`;

/** Makes the tables that are missing, and the identity. Call it in a transaction. */
export function makeTables(db: DatabaseSync): void {
  db.exec(tables);
  db.prepare('INSERT OR IGNORE INTO plant_store (id, identity) VALUES (1, ?)').run(newIdentity());
}

/**
 * Compares the tables and indexes with those of this program, but for those of an earlier version.
 *
 * @returns a clause that names each difference
 */
export function schemaFaultOf(db: DatabaseSync): string | undefined {
  const id = pragma(db, 'application_id');
  if (id !== applicationId) return `the application_id is ${id}`;
  if (pragma(db, 'user_version') < schemaVersion) return undefined;
  const found = schemaOf(db);
  const wrong = [...ownSchema()]
    .filter(([name, sql]) => spelledAlike(found.get(name)) !== spelledAlike(sql))
    .map(([name, sql]) => `${name} is "${found.get(name) ?? ''}" instead of "${sql}"`);
  return wrong.length === 0 ? undefined : wrong.join(', ');
}

/** @throws StoreOpenError if the tables differ from those of their version, or have triggers */
export function refuseSchemaFault(db: DatabaseSync, path: string): void {
  const fault = schemaFaultOf(db);
  if (fault !== undefined)
    throw new StoreOpenError(
      `the tables of the store at ${path} are not those of its version: ${fault}; choose ` +
        'another file with --store, or put a backup in its place',
    );
  refuseTriggers(db, path);
}

/** @throws StoreOpenError */
export function refuseTriggers(db: DatabaseSync, path: string): void {
  const found = triggersIn(db, path);
  if (found) throw new StoreOpenError(`the store at ${path} has ${found.says}; ${found.remedy}`);
}

/** The triggers on the tables of a store, which others have made. */
export function triggersIn(db: DatabaseSync, path: string): FoundTriggers | undefined {
  // The table stands there as the trigger spells it.
  const names = [...tables.matchAll(/TABLE IF NOT EXISTS (\w+)/g)].map(([, name]) => `'${name}'`);
  const triggers = `SELECT name, tbl_name FROM sqlite_schema
    WHERE type = 'trigger' AND tbl_name COLLATE NOCASE IN (${names})`;
  const rows = db.prepare(triggers).all();
  if (rows.length === 0) return undefined;
  const all = rows.map(({ name, tbl_name: table }) => `the trigger ${name} on ${table}`);
  const drop = rows
    .map(({ name }) => `DROP TRIGGER "${`${name}`.replaceAll('"', '""')}";`)
    .join(' ');
  return {
    says: `${all.join(' and ')}, which may change or remove what is stored`,
    drop,
    remedy:
      'find out where this comes from, and remove it: ' +
      `sqlite3 ${shellQuoted(resolve(path))} ${shellQuoted(drop)}`,
  };
}

/** The definition of each table and index, by its name. */
function schemaOf(db: DatabaseSync): Map<string, string> {
  // A trigger may have the name of a table.
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type <> 'trigger'").all();
  return new Map(rows.map(({ name, sql }) => [`${name}`, `${sql}`.replaceAll(/\s+/g, ' ')]));
}

/** Other programs write names in quotes. */
function spelledAlike(sql = ''): string {
  return sql.replaceAll(/["`[\]\s]/g, '').toLowerCase();
}

function ownSchema(): Map<string, string> {
  using db = new DatabaseSync(':memory:');
  makeTables(db);
  return schemaOf(db);
}

/** 0 for an empty file. @throws StoreOpenError for an unknown schema, or a foreign file */
export function schemaVersionOf(db: DatabaseSync, path: string): number {
  const id = pragma(db, 'application_id');
  const version = pragma(db, 'user_version');
  if (id === applicationId && version > 0) {
    const fault = unknownVersion(version, releasedVersions);
    if (fault !== undefined) throw new StoreOpenError(`the store at ${path} ${fault}`);
    return version;
  }
  // Litestream may find the empty file first, and keeps tables in the file that it follows.
  const foreign = "SELECT 1 FROM sqlite_schema WHERE name NOT GLOB '_litestream_*'";
  if ((id === 0 || id === applicationId) && db.prepare(foreign).get() === undefined) return 0;
  // Another process may have made the store between the two reads.
  if (id === 0 && pragma(db, 'application_id') === applicationId) return schemaVersionOf(db, path);
  throw new StoreOpenError(
    `${path} is an SQLite database of another program, not a plant store; choose another ` +
      'file with --store',
  );
}

/** The value of a pragma that has a number. */
export function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
