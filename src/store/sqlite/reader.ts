import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { BackupRecord } from '../backups.ts';
import type { JobName, JobRecord } from '../jobs.ts';
import {
  countByCreator,
  countMatches,
  type IdWindows,
  type PlantRange,
  searchNewest,
  searchPlants,
} from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import type { StoreReader } from '../store.ts';
import { openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { newestWindow, timeAt } from './newest.ts';
import {
  addFoldCase,
  addTally,
  countCreatorsAfter,
  countPlantsAfter,
  outcomesOf,
  plantPage,
} from './plant-rows.ts';
import { arrivalsSince, backupsSince, heartbeatSince, pragma } from './schema.ts';
import { openSqliteSnapshot } from './snapshot.ts';
import { countTokens, isLive, isToken, ofSession, tokenRecords } from './token-rows.ts';

/** Reads on a connection of the calling thread. In WAL mode, readers and the writer do not wait. */
export function openSqliteReader(path: string): StoreReader {
  const file = openForReading(path);
  const { db } = file;
  addFoldCase(db);
  addTally(db);
  const read = <T>(work: (db: DatabaseSync) => T) => withStoreErrors(() => file.read(work));
  const close = async () => file[Symbol.dispose]();
  const pageOf = (filter: PlantRange) => read(() => plantPage(db, filter));
  const countAfter: IdWindows['countAfter'] = (...window) =>
    read(() => countPlantsAfter(db, ...window));
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => pageOf({ limit: 1, id }).plants[0],
    listPlants: (filter) => listPlants(filter, { countAfter, pageOf }),
    searchPlants: (search) => searchPlants(search, { countAfter, pageOf }),
    newestPlants: (search) =>
      searchNewest(search, {
        windowBefore: (...window) => read(() => newestWindow(db, ...window)),
        timeAt: (position) => read(() => timeAt(db, position)),
      }),
    countMatches: (count) => countMatches(count, countAfter),
    countByCreator: (count) =>
      countByCreator(count, (...window) => read(() => countCreatorsAfter(db, ...window))),
    outcomesOf: async (plants) => read(() => outcomesOf(db, plants)),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    listTokens: async () => read(() => tokenRecords(db)),
    liveTokens: async (nowMs) =>
      read(() => tokenRecords(db, `WHERE ${isLive} AND ${isToken}`, nowMs)),
    countTokens: async (nowMs, usedSinceMs) => read(() => countTokens(db, nowMs, usedSinceMs)),
    findToken: async (hash) => read(() => tokenRecords(db, 'WHERE hash = ?', hash)[0]),
    findTokens: async (hashes) =>
      read(() => tokenRecords(db, `WHERE hash IN (${hashes.map(() => '?')})`, ...hashes)),
    findSessionToken: async (hash, nowMs) =>
      read(() => tokenRecords(db, ofSession, hash, nowMs)[0]),
    listBackups: async () => read(listBackups),
    lastBeat: async () => read(lastBeat),
    listJobs: async () => read(listJobs),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Each step is a read of its own: one long read would keep the WAL from being reset. Plants are
 * never changed or removed, so every plant that exists at the start is listed, once.
 */
async function* listPlants(
  { limit, ...filter }: PlantFilter,
  windows: IdWindows,
): AsyncGenerator<StoredPlant> {
  let { after } = filter;
  for (let left = limit; left > 0; ) {
    // A signal waits for a turn of the event loop.
    await setImmediate();
    const budgetMs = limits.store.listStepMs;
    const { plants, next } = await searchPlants(
      { ...filter, after, limit: left, budgetMs },
      windows,
    );
    yield* plants;
    if (next === undefined) return;
    after = next;
    left -= plants.length;
  }
}

export function listBackups(db: DatabaseSync): readonly BackupRecord[] {
  if (pragma(db, 'user_version') < backupsSince) return [];
  const select = db.prepare(
    'SELECT file, finished_at AS finishedAtMs, plants, digest FROM backups ORDER BY id DESC',
  );
  return select.all() as unknown as BackupRecord[];
}

export function lastBeat(db: DatabaseSync): number | undefined {
  if (pragma(db, 'user_version') < heartbeatSince) return undefined;
  return db.prepare('SELECT beaten_at FROM heartbeat').get()?.['beaten_at'] as number | undefined;
}

export function listJobs(db: DatabaseSync): JobRecord[] {
  if (pragma(db, 'user_version') < arrivalsSince) return [];
  const select = db.prepare(
    'SELECT name, ran_at, fault, succeeded_at, took_ms FROM jobs ORDER BY name',
  );
  return select.all().map((row) => ({
    name: row['name'] as JobName,
    ranAtMs: row['ran_at'] as number,
    fault: (row['fault'] as string | null) ?? undefined,
    success:
      row['succeeded_at'] === null
        ? undefined
        : { atMs: row['succeeded_at'] as number, tookMs: row['took_ms'] as number },
  }));
}
