import { limits } from '../../limits.ts';
import { numberText } from '../../quantity-text.ts';
import { commandOn } from '../command-text.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import { figuresOf, type Inspection, type OnProgress } from '../inspection.ts';
import { type PostgresLocation, shownUrl } from '../location.ts';
import {
  countPlants,
  countPlantsAfter,
  getPlant,
  idAfter,
  plantOf,
  snapshotReads,
  timeConditions,
} from '../plant-rows.ts';
import { searchesIn } from '../plant-search.ts';
import type { PlantSnapshot } from '../plants.ts';
import { schemaVersion } from '../schema-version.ts';
import type { StoreReader } from '../store.ts';
import { readIdentity, type StoreIdentity } from '../tables/identity.ts';
import { callsOf, raw } from '../tables/steps.ts';
import { reads } from '../tables/tables.ts';
import { type Connector, openConnector } from './connector.ts';
import {
  DATA_CORRUPTED,
  INDEX_CORRUPTED,
  SERIALIZATION_FAILURE,
  sqlState,
  storeError,
} from './errors.ts';
import { byId, conditionsOf, newestFirst, plantWindow, rowPage } from './plant-rows.ts';
import { type Pool, runOnce, within } from './pool.ts';
import { refuseUnfitSchema, versionOf } from './schema.ts';
import { runSteps } from './steps.ts';
import { type Query, snapshot } from './transaction.ts';

export function readerOn(
  location: PostgresLocation,
  connector: Connector,
  pool: Pool,
): StoreReader {
  const read = <T>(work: (query: Query) => Promise<T>) => pool.run(work);
  const close = async () => pool.close();
  return {
    url: shownUrl(location),
    identity: () => read(identityIn),
    ...searchesIn({
      windowAfter: (...window) => read((query) => plantWindow(query, byId, ...window)),
      windowBefore: (...window) => read((query) => plantWindow(query, newestFirst, ...window)),
      countAfter: (after, plantsMax, match) =>
        read(async (query) => {
          const conditions = await conditionsOf(query, match);
          return runSteps(query, countPlantsAfter(after, plantsMax, conditions));
        }),
      countAll: (match) =>
        read(async (query) => runSteps(query, countPlants(await conditionsOf(query, match)))),
    }),
    openSnapshot: () => openPostgresSnapshot(connector),
    async *allPlants(sinceMs) {
      await using snapshot = await openPostgresSnapshot(connector);
      for await (const page of snapshot.pages(sinceMs)) yield* page;
    },
    ...callsOf({ ...reads, getPlant }, (begin) => read((query) => runSteps(query, begin()))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @returns the version of the schema. @throws StoreOpenError if there is no store */
export async function demandStore(query: Query, location: PostgresLocation): Promise<number> {
  const version = await versionOf(query);
  if (version > 0) return version;
  await refuseUnfitSchema(query, false);
  throw new StoreOpenError(
    `there is no store in ${shownUrl(location)}; name the store with --store or ` +
      'PLANT_STORE_STORE, or make one there with ' +
      `${commandOn(shownUrl(location), 'serve')}`,
  );
}

/** Undefined for a store of an earlier schema. */
export async function identityIn(query: Query): Promise<StoreIdentity | undefined> {
  return (await versionOf(query)) < schemaVersion ? undefined : runSteps(query, readIdentity());
}

/** A read transaction on its own connection. @throws StoreError */
async function openPostgresSnapshot(connector: Connector): Promise<PlantSnapshot> {
  const connection = await connector.connect();
  // Between two reads, nothing else tells why the server has ended the session.
  let end: Error | undefined;
  connection.client.once('error', (error) => (end = error));
  const run = <T>(work: (query: Query) => Promise<T>) =>
    within(connection, connector.callMs, work).catch((error) => {
      const { failure, message } = storeError(end ?? error);
      // A standby ends a snapshot that keeps it from following the primary.
      const isConflict = sqlState(end ?? error) === SERIALIZATION_FAILURE;
      const remedy = isConflict ? '; set hot_standby_feedback = on in the standby, and repeat' : '';
      throw new StoreError(failure, message + remedy, { cause: end ?? error });
    });
  try {
    // The first read takes the snapshot. A slow reader may pause between two pages.
    await run(async (query) => {
      await query.begin(snapshot);
      await query('SELECT 1 FROM plants LIMIT 1');
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return {
    ...callsOf(snapshotReads, (begin) => run((query) => runSteps(query, begin()))),
    pages: (sinceMs) => pagesOf(run, sinceMs),
    [Symbol.asyncDispose]: async () => connection.destroy(),
  };
}

/** The server reads the next page while a page is used. */
async function* pagesOf(
  run: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
  sinceMs: number | undefined,
) {
  const { snapshotPagePlants, snapshotPageChars } = limits.store;
  const readAfter = (after: bigint | undefined): ReturnType<typeof rowPage> => {
    const next = [idAfter(after), ...timeConditions({ sinceMs })];
    const page = run((query) =>
      rowPage(query, raw('id'), next, snapshotPagePlants, snapshotPageChars),
    );
    // It may fail before it is waited for.
    page.catch(() => undefined);
    return page;
  };
  for (let page = readAfter(undefined); ; ) {
    const { rows, isLast } = await page;
    if (!isLast) page = readAfter(rows.at(-1)?.[0]);
    if (rows.length > 0) yield rows.map(plantOf);
    if (isLast) return;
  }
}

/** Reads all plants at one moment; the server checks pages. @throws StoreOpenError, StoreError */
export async function inspectPostgres(
  location: PostgresLocation,
  readMs: number,
  onProgress: OnProgress,
): Promise<Inspection> {
  try {
    const [schemaVersion, identity] = await runOnce(
      location,
      readMs,
      async (query) => [await demandStore(query, location), await identityIn(query)] as const,
      true,
    );
    const read = { acceptsLostCommits: true, isReader: true };
    await using snapshot = await openPostgresSnapshot(openConnector(location, readMs, read));
    return {
      schemaVersion,
      identity: identity?.identity,
      ...(await figuresOf(snapshot.pages(), (plants) =>
        onProgress(`reading the plants: ${numberText(plants)}`),
      )),
    };
  } catch (error) {
    if (isDamage(error)) return { fault: `is damaged (${(error as Error).message})` };
    throw error;
  }
}

function isDamage(error: unknown): boolean {
  const state = error instanceof StoreError ? sqlState(error.cause) : undefined;
  return state === DATA_CORRUPTED || state === INDEX_CORRUPTED;
}
