import type { DatabaseSync } from 'node:sqlite';
import type { BackupRecord, PlantFilter, Role, StoredPlant, StoreReader, TokenRecord } from '../store.ts';
import { openForReading } from './database.ts';
import { storeError } from './errors.ts';
import { backupsSince, pragma } from './schema.ts';

/** The reads of a store, on a connection of the calling thread. With WAL they neither wait for writers nor hold them up. */
export function openSqliteReader(path: string): StoreReader {
  const db = openForReading(path);
  const close = async () => {
    if (db.isOpen) db.close();
  };
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => reading(() => plantRows(db, { after: undefined, limit: 1, id }).next().value),
    listPlants: (filter) => listing(db, filter),
    countPlants: async () => reading(() => Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n'])),
    listTokens: async () => reading(() => db.prepare('SELECT * FROM tokens ORDER BY id').all().map(tokenRecord)),
    lastBackup: async () => reading(() => lastBackup(db)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw storeError(error);
  }
}

async function* listing(db: DatabaseSync, filter: PlantFilter): AsyncGenerator<StoredPlant> {
  try {
    yield* plantRows(db, filter);
  } catch (error) {
    throw storeError(error);
  }
}

function* plantRows(db: DatabaseSync, filter: PlantFilter & { id?: bigint }): Generator<StoredPlant, undefined> {
  const conditions: readonly (readonly [sql: string, value: string | bigint | undefined])[] = [
    ['plants.id = ?', filter.id],
    ['plants.id > ?', filter.after],
    ['tag = ?', filter.tag],
    ['instr(plants.name, ?) > 0', filter.nameContains],
  ];
  const where: string[] = ['TRUE'];
  const values: (string | bigint)[] = [];
  for (const [sql, value] of conditions) {
    if (value === undefined) continue;
    where.push(sql);
    values.push(value);
  }
  const select = db.prepare(`
    SELECT plants.id, plants.name, tag, plants.created_at, coalesce(tokens.name, 'environment') AS created_by
    FROM plants LEFT JOIN tokens ON tokens.id = created_by
    WHERE ${where.join(' AND ')} ORDER BY plants.id LIMIT ?`);
  select.setReadBigInts(true);
  for (const row of select.iterate(...values, filter.limit)) {
    yield {
      id: row['id'] as bigint,
      name: row['name'] as string,
      tag: (row['tag'] as string | null) ?? undefined,
      createdAtMs: Number(row['created_at']),
      createdBy: row['created_by'] as string,
    };
  }
  return undefined;
}

export function lastBackup(db: DatabaseSync): BackupRecord | undefined {
  if (pragma(db, 'user_version') < backupsSince) return undefined;
  const row = db.prepare('SELECT file, finished_at AS finishedAtMs, plants, digest FROM backups ORDER BY id DESC LIMIT 1').get();
  return row as BackupRecord | undefined;
}

type Row = Record<string, unknown>;

function tokenRecord(row: Row): TokenRecord {
  return {
    id: row['id'] as number,
    name: row['name'] as string,
    hash: row['hash'] as Uint8Array,
    role: row['role'] as Role,
    createdAtMs: row['created_at'] as number,
    expiresAtMs: (row['expires_at'] as number | null) ?? undefined,
    revokedAtMs: (row['revoked_at'] as number | null) ?? undefined,
    lastUsedAtMs: (row['last_used_at'] as number | null) ?? undefined,
  };
}
