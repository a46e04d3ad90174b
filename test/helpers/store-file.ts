import { closeSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { engineOf } from '../../src/store/engines.ts';
import { openForWriting } from '../../src/store/sqlite/database.ts';
import type { Store } from '../../src/store/store.ts';
import type { Owner } from './program.ts';
import { storePath } from './program.ts';

/** The plants in the file, in ascending order of id, as [id, name, tag]. */
export function storedPlants(
  path: string,
): (readonly [id: bigint, name: string, tag: string | null])[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const select = db.prepare('SELECT id, name, tag FROM plants ORDER BY id');
  select.setReadBigInts(true);
  return select
    .all()
    .map((row) => [row['id'] as bigint, row['name'] as string, row['tag'] as string | null]);
}

/** The ids of the plants in the file, in ascending order. */
export const storedIds = (path: string) => storedPlants(path).map(([id]) => Number(id));

/** The salt of the WAL, which grows by 1 when the WAL begins (sqlite.org/fileformat2.html#walformat). */
export function walSalt(store: string): number {
  const head = Buffer.alloc(20);
  const wal = openSync(`${store}-wal`, 'r');
  readSync(wal, head, 0, head.length, 0);
  closeSync(wal);
  return head.readUInt32BE(16);
}

/** Does something to the file behind the server's back. */
export function alterStore(path: string, sql: string): void {
  using db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(sql);
}

/**
 * Makes a store, with plants as `addPlants` adds them: without a sync for each batch, and so in a
 * tenth of the time.
 */
export function makeStore(path: string, plants = 0, nameChars?: number): void {
  openForWriting(path, true).db.close();
  if (plants > 0) addPlants(path, plants, nameChars);
}

/** The path of a new store with the given number of plants, in a new folder. */
export async function newStore(owner: Owner, plants = 0, nameChars?: number): Promise<string> {
  const path = await storePath(owner);
  makeStore(path, plants, nameChars);
  return path;
}

/** Adds a token with an unknown secret, made in the first second of 1970. */
export function addToken(path: string, name: string): void {
  alterStore(
    path,
    `INSERT INTO tokens (name, hash, role, created_at) VALUES ('${name}', randomblob(32), 'create', 1000)`,
  );
}

/** Opens a store in a file, which is made if there is none. The caller closes it. */
export function openStoreAt(path: string, lockMs = 5_000): Promise<Store> {
  return engineOf({ engine: 'sqlite', path }).open({ callMs: lockMs, mayMake: true });
}

/** Adds plants with the ids from 1 to `count`, each with a name of some `nameChars` characters. */
export function addPlants(path: string, count: number, nameChars = 10): void {
  alterStore(
    path,
    `WITH RECURSIVE ids(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM ids WHERE id < ${count})
     INSERT INTO plants SELECT id, printf('%.*c', ${nameChars}, 'x') || id, iif(id % 2, 'odd', NULL), 1000, 0 FROM ids`,
  );
}

/**
 * Adds tokens with unknown secrets, named `valid1` or `past1` and so on. All tokens of the past have
 * expired, and every second one is revoked.
 */
export function addTokens(path: string, count: number, state: 'valid' | 'past'): void {
  const times = state === 'valid' ? 'NULL, NULL' : '2, iif(i % 2, 3, NULL)';
  alterStore(
    path,
    `WITH RECURSIVE numbers(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
     INSERT INTO tokens (name, hash, role, created_at, expires_at, revoked_at)
     SELECT '${state}' || i, randomblob(32), 'create', 1, ${times} FROM numbers`,
  );
}

/**
 * Keeps the server from writing until it is released, as another process that is busy writing
 * would.
 */
export function lockStore(owner: Owner, path: string): { release(): void } {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('BEGIN IMMEDIATE');
  const release = () => {
    if (db.isOpen) db.close();
  };
  owner.after(release);
  return { release };
}
