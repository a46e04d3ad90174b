import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { BackupRecord } from '../backups.ts';
import { type PlantPage, searchPlants } from '../paging.ts';
import type { CountedPlants, PlantFilter, StoredPlant } from '../plants.ts';
import type { StoreReader } from '../store.ts';
import {
  fixedTokenName,
  importId,
  importName,
  namesOfNoToken,
  ofTokenMark,
  type Role,
  type TokenCounts,
  type TokenRecord,
} from '../tokens.ts';
import { openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { countPlants, openSqliteSnapshot } from './plant-snapshot.ts';
import { backupsSince, pragma } from './schema.ts';

/**
 * The reads of a store, on a connection of the calling thread. With WAL they neither wait for
 * writers nor hold them up.
 */
export function openSqliteReader(path: string): StoreReader {
  const db = openForReading(path);
  const close = async () => {
    if (db.isOpen) db.close();
  };
  const pageOf = (filter: PlantRange) => withStoreErrors(() => plantPage(db, filter));
  const countAfter = (after: bigint | undefined, plantsMax: number) =>
    withStoreErrors(() => countPlantsAfter(db, after, plantsMax));
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => withStoreErrors(() => plantPage(db, { limit: 1, id }).plants[0]),
    listPlants: (filter) => listing(filter, pageOf),
    searchPlants: (search) => searchPlants(search, { countAfter, pageOf }),
    countPlantsAfter: async (after, plantsMax) => countAfter(after, plantsMax),
    countPlants: async () => withStoreErrors(() => countPlants(db)),
    openSnapshot: async () => withStoreErrors(() => openSqliteSnapshot(path)),
    listTokens: async () => withStoreErrors(() => tokenRecords(db)),
    liveTokens: async (nowMs) => withStoreErrors(() => tokenRecords(db, `WHERE ${isLive}`, nowMs)),
    countTokens: async (nowMs, usedSinceMs) =>
      withStoreErrors(() => countTokens(db, nowMs, usedSinceMs)),
    findToken: async (hash) =>
      withStoreErrors(() => findToken(db, 'SELECT * FROM tokens WHERE hash = ?', hash)),
    findSessionToken: async (hash, nowMs) =>
      withStoreErrors(() => findToken(db, sessionToken, hash, nowMs)),
    lastBackup: async () => withStoreErrors(() => lastBackup(db)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Page by page: a snapshot that lasts as long as the caller takes would keep the log from beginning
 * anew. Plants are never changed or removed, so all that were there at the start are listed, each
 * once.
 */
async function* listing(
  filter: PlantFilter,
  pageOf: (filter: PlantFilter) => PlantPage,
): AsyncGenerator<StoredPlant> {
  let { after, limit } = filter;
  for (;;) {
    const { plants, isLast } = pageOf({ ...filter, after, limit });
    yield* plants;
    if (isLast) return;
    after = plants.at(-1)?.id;
    limit -= plants.length;
  }
}

/** The next plants, up to `limits.store.listPageChars`. */
function plantPage(db: DatabaseSync, filter: PlantRange): PlantPage {
  const plants: StoredPlant[] = [];
  let chars = 0;
  for (const row of plantRows(db, filter)) {
    const plant = storedPlant(row);
    plants.push(plant);
    chars += 1 + plant.name.length + (plant.tag?.length ?? 0);
    if (chars >= limits.store.listPageChars) return { plants, isLast: false };
  }
  return { plants, isLast: true };
}

/** Of the next `plantsMax` plants. */
function countPlantsAfter(
  db: DatabaseSync,
  after: bigint | undefined,
  plantsMax: number,
): CountedPlants {
  const from = after === undefined ? '' : 'WHERE id > ?';
  const count = db.prepare(
    `SELECT count(*) AS plants, max(id) AS last FROM (SELECT id FROM plants ${from} ORDER BY id LIMIT ?)`,
  );
  count.setReadBigInts(true);
  const row = count.get(...(after === undefined ? [] : [after]), plantsMax) as {
    plants: bigint;
    last: bigint | null;
  };
  return { plants: Number(row.plants), last: row.last ?? undefined };
}

interface PlantRange extends PlantFilter {
  readonly id?: bigint;
  readonly upTo?: bigint;
}

const reserved = namesOfNoToken.map((name) => `'${name}'`).join(', ');
/** `listedTokenName` in SQL. */
const createdBy = `CASE
  WHEN tokens.name IN (${reserved}) THEN tokens.name || '${ofTokenMark}'
  ELSE coalesce(tokens.name, iif(created_by = ${importId}, '${importName}', '${fixedTokenName}')) END`;

function plantRows(db: DatabaseSync, filter: PlantRange): Iterable<Row> {
  const conditions: readonly (readonly [
    sql: string,
    value: string | bigint | number | undefined,
  ])[] = [
    ['plants.id = ?', filter.id],
    ['plants.id > ?', filter.after],
    ['plants.id <= ?', filter.upTo],
    ['tag = ?', filter.tag],
    ['instr(plants.name, ?) > 0', filter.nameContains],
    [`${createdBy} = ?`, filter.createdBy],
    ['plants.created_at >= ?', filter.sinceMs],
  ];
  const where: string[] = ['TRUE'];
  const values: (string | bigint | number)[] = [];
  for (const [sql, value] of conditions) {
    if (value === undefined) continue;
    where.push(sql);
    values.push(value);
  }
  const select = db.prepare(`
    SELECT plants.id, plants.name, tag, plants.created_at, ${createdBy} AS created_by
    FROM plants LEFT JOIN tokens ON tokens.id = created_by
    WHERE ${where.join(' AND ')} ORDER BY plants.id LIMIT ?`);
  select.setReadBigInts(true);
  return select.iterate(...values, filter.limit);
}

export function lastBackup(db: DatabaseSync): BackupRecord | undefined {
  if (pragma(db, 'user_version') < backupsSince) return undefined;
  const row = db
    .prepare(
      'SELECT file, finished_at AS finishedAtMs, plants, digest FROM backups ORDER BY id DESC LIMIT 1',
    )
    .get();
  return row as BackupRecord | undefined;
}

const sessionToken =
  'SELECT tokens.* FROM sessions JOIN tokens ON tokens.id = token_id WHERE sessions.hash = ? AND sessions.expires_at > ?';

function findToken(
  db: DatabaseSync,
  select: string,
  ...values: (Uint8Array | number)[]
): TokenRecord | undefined {
  const row = db.prepare(select).get(...values);
  return row && tokenRecord(row);
}

/** Of tokens, at a time. */
export const isLive = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)';

/** In order of creation. @param which conditions; without them, all */
export function tokenRecords(db: DatabaseSync, which = '', ...values: number[]): TokenRecord[] {
  const select = db.prepare(`SELECT * FROM tokens ${which} ORDER BY id`);
  return select.all(...values).map(tokenRecord);
}

type TokenColumns = Record<'total' | 'valid' | 'revoked' | 'inUse', number>;

function countTokens(db: DatabaseSync, nowMs: number, usedSinceMs: number): TokenCounts {
  const columns = `count(revoked_at) AS revoked, count(*) FILTER (WHERE ${isLive}) AS valid, count(*) AS total,
    count(*) FILTER (WHERE ${isLive} AND last_used_at > ?2) AS inUse`;
  const { total, valid, revoked, inUse } = db
    .prepare(`SELECT ${columns} FROM tokens`)
    .get(nowMs, usedSinceMs) as TokenColumns;
  return { byState: { valid, expired: total - valid - revoked, revoked }, inUse };
}

type Row = Record<string, unknown>;

function storedPlant(row: Row): StoredPlant {
  return {
    id: row['id'] as bigint,
    name: row['name'] as string,
    tag: (row['tag'] as string | null) ?? undefined,
    createdAtMs: Number(row['created_at']),
    createdBy: row['created_by'] as string,
  };
}

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
