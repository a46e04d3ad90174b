import type { BackupRecord } from '../backups.ts';
import { commandOn } from '../command-text.ts';
import { NoStoreError } from '../errors.ts';
import type { JobName, JobRecord } from '../jobs.ts';
import type { PostgresLocation } from '../location.ts';
import {
  countByCreator,
  countMatches,
  type IdWindows,
  searchNewest,
  searchPlants,
} from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import { isSessionInForce } from '../sessions.ts';
import type { StoreReader } from '../store.ts';
import type { Connector } from './connector.ts';
import { pagesByIdRange } from './id-ranges.ts';
import { postgresText } from './location.ts';
import { newestWindows, timeAt } from './newest.ts';
import { countCreatorsAfter, countPlantsAfter, idEnds, plantPage } from './plant-rows.ts';
import { outcomesOf } from './plants.ts';
import type { Pool } from './pool.ts';
import { refuseHiddenSchema, versionOf } from './schema.ts';
import { openPostgresSnapshot } from './snapshot.ts';
import { countTokens, isLive, isToken, tokenRecords } from './token-rows.ts';
import type { Query } from './transaction.ts';

/** @param readMs time for each query */
export function readerOn(
  location: PostgresLocation,
  connector: Connector,
  pool: Pool,
  readMs: number,
): StoreReader {
  const read: Read = (work) => pool.run(work, readMs);
  const countAfter = (...window: Parameters<IdWindows['countAfter']>) =>
    read((query) => countPlantsAfter(query, ...window));
  const close = async () => pool.close();
  return {
    location: postgresText(location),
    getPlant: (id) => read(async (query) => (await plantPage(query, { limit: 1, id })).plants[0]),
    listPlants: (filter) => listPlants(read, filter),
    searchPlants: (search) =>
      searchPlants(search, {
        countAfter,
        pageOf: (filter) => read((query) => plantPage(query, filter)),
      }),
    newestPlants: async (search) => {
      const windowBefore = await read(newestWindows);
      return searchNewest(search, {
        windowBefore: (...window) => read((query) => windowBefore(query, ...window)),
        timeAt: (position) => read((query) => timeAt(query, position)),
      });
    },
    countMatches: (count) => countMatches(count, countAfter),
    countByCreator: (count) =>
      countByCreator(count, (...window) => read((query) => countCreatorsAfter(query, ...window))),
    outcomesOf: (plants) => read((query) => outcomesOf(query, plants)),
    openSnapshot: () => openPostgresSnapshot(connector, readMs),
    listTokens: () => read((query) => tokenRecords(query, 'ORDER BY id')),
    liveTokens: (nowMs) =>
      read((query) => tokenRecords(query, `WHERE ${isLive} AND ${isToken} ORDER BY id`, nowMs)),
    countTokens: (nowMs, usedSinceMs) => read((query) => countTokens(query, nowMs, usedSinceMs)),
    findToken: (hash) =>
      read(async (query) => (await tokenRecords(query, 'WHERE hash = $1', hash))[0]),
    findTokens: (hashes) =>
      read((query) => tokenRecords(query, 'WHERE hash = ANY($1::bytea[])', hashes)),
    findSessionToken: (hash, nowMs) =>
      read(async (query) => (await tokenRecords(query, ofSession, hash, nowMs))[0]),
    listBackups: () => read(listBackups),
    lastBeat: () => read(lastBeat),
    listJobs: () => read(listJobs),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Read = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

/** Lists every plant that exists at the start, once. */
async function* listPlants(read: Read, filter: PlantFilter): AsyncGenerator<StoredPlant> {
  let { limit } = filter;
  const ends = await read((query) => idEnds(query, filter.after));
  for await (const page of pagesByIdRange(ends, (range) =>
    read((query) => plantPage(query, { ...filter, ...range, limit })),
  )) {
    yield* page;
    limit -= page.length;
    if (limit === 0) return;
  }
}

/** @returns the version of the schema. @throws StoreOpenError if there is no store */
export async function demandStore(query: Query, location: PostgresLocation): Promise<number> {
  const version = await versionOf(query);
  if (version > 0) return version;
  await refuseHiddenSchema(query);
  throw new NoStoreError(
    `there is no store in ${postgresText(location)}; name the store with --store or PLANT_STORE_STORE, or make one there with ${commandOn(postgresText(location), 'serve')}`,
  );
}

const ofSession = `WHERE id = (SELECT token_id FROM sessions WHERE sessions.hash = $1 AND ${isSessionInForce('$2::bigint')})`;

export async function listBackups(query: Query): Promise<readonly BackupRecord[]> {
  const { rows } = await query(
    'SELECT file, finished_at, plants, digest FROM backups ORDER BY id DESC',
  );
  return rows.map(([file, finishedAt, plants, digest]) => ({
    file,
    finishedAtMs: Number(finishedAt),
    plants: Number(plants),
    digest,
  }));
}

async function lastBeat(query: Query): Promise<number | undefined> {
  const { rows } = await query('SELECT beaten_at FROM heartbeat ORDER BY beaten_at DESC LIMIT 1');
  return rows.map(([beatenAt]) => Number(beatenAt))[0];
}

export async function listJobs(query: Query): Promise<JobRecord[]> {
  const { rows } = await query(
    'SELECT name, ran_at, fault, succeeded_at, took_ms FROM jobs ORDER BY name',
  );
  return rows.map(([name, ranAt, fault, succeededAt, took]) => ({
    name: name as JobName,
    ranAtMs: Number(ranAt),
    fault: fault ?? undefined,
    success: succeededAt === null ? undefined : { atMs: Number(succeededAt), tookMs: Number(took) },
  }));
}
