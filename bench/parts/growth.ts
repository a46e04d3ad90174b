/**
 * What full load does to stores of different sizes, against an empty one that is measured beside
 * each.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { storeLog } from '../../src/stores.ts';
import type { LoadResult } from '../generator/order.ts';
import { type IdKind, idSequences } from '../ids.ts';
import type { Bench } from '../part.ts';
import { type Spread, spread } from '../statistics.ts';
import { fillStore } from '../store-feeder.ts';
import { renderFacts, renderTable, spreadText } from '../table.ts';
import {
  type LoadedStore,
  runOnFreshStore,
  runTarget,
  type TargetUnderLoad,
  verifyCount,
} from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';

export interface GrowthSettings {
  /** Pairs of an empty and a grown store at each size. */
  rounds: number;
  warmupMs: number;
  measureMs: number;
  /** Ascending. */
  sizes: number[];
  ids: IdKind[];
}

interface StoreUnderLoad extends LoadResult {
  /** At the beginning of the load. */
  plants: number;
  storeBytes: number;
  /** At the end of the load, while the service is running. */
  logBytes: number;
}

interface Pair {
  ids: IdKind;
  size: number;
  empty: StoreUnderLoad;
  /** Of size 0, the empty one itself. */
  grown: StoreUnderLoad;
}

export interface GrowthPart {
  settings: GrowthSettings;
  pairs: Pair[];
}

/** Every store must hold exactly what was acknowledged. Those that grow are counted at the end. */
export async function measureGrowth(settings: GrowthSettings, bench: Bench): Promise<GrowthPart> {
  const growing = settings.ids.map((ids) => emptyStore(ids, bench));
  const pairs: Pair[] = [];
  for (const size of settings.sizes) {
    for (const store of growing) {
      bench.progress(`${idSequences[store.ids].label} ids, ${numberText(size)} plants`);
      await fillStore(store, size);
      for (let round = 1; round <= settings.rounds; round++)
        pairs.push(await measurePair(store, size, settings, bench));
    }
  }
  for (const store of growing) {
    verifyCount(targets.service, store);
    rmSync(join(store.path, '..'), { recursive: true });
  }
  return { settings, pairs };
}

function emptyStore(ids: IdKind, { directory }: Bench): LoadedStore {
  return { path: join(mkdtempSync(join(directory, 'growing-')), 'plants.db'), ids, plants: 0 };
}

/**
 * One right after the other, so that what drifts on the machine while the store is filled meets
 * both.
 */
async function measurePair(
  store: LoadedStore,
  size: number,
  settings: GrowthSettings,
  { directory, progress }: Bench,
): Promise<Pair> {
  const { ids } = store;
  const underLoad = (target: TargetUnderLoad, loaded: LoadedStore) =>
    measureStore(target, loaded, settings);
  const empty = await runOnFreshStore(targets.service, { directory, ids }, underLoad);
  const grown =
    size === 0
      ? empty
      : await runTarget(targets.service, store, (target) => underLoad(target, store));
  progress(
    `  ${Math.round(grown.createsPerSecond)} creates/s, ${Math.round(empty.createsPerSecond)} on an empty store`,
  );
  return { ids, size, empty, grown };
}

async function measureStore(
  target: TargetUnderLoad,
  store: LoadedStore,
  settings: GrowthSettings,
): Promise<StoreUnderLoad> {
  const { warmupMs, measureMs } = settings;
  const { plants, path } = store;
  const result = await target.load({ connections: fullLoadConnections, warmupMs, measureMs });
  return {
    ...result,
    plants,
    storeBytes: statSync(path).size,
    logBytes: storeLog({ engine: 'sqlite', path })?.size ?? 0,
  };
}

/** One size of one kind of ids, over the rounds. */
export interface GrowthRow {
  ids: IdKind;
  size: number;
  plants: number;
  createsPerSecond: Spread | null;
  p50Ms: Spread | null;
  p99Ms: Spread | null;
  ratioToEmpty: Spread | null;
  storeBytes: Spread | null;
  logBytes: Spread | null;
}

export function growthRows({ settings, pairs }: GrowthPart): GrowthRow[] {
  return settings.ids.flatMap((ids) =>
    settings.sizes.map((size) => {
      const own = pairs.filter((pair) => pair.ids === ids && pair.size === size);
      const over = (of: (store: StoreUnderLoad) => number) =>
        spread(own.map(({ grown }) => of(grown)));
      return {
        ids,
        size,
        plants: Math.min(...own.map(({ grown }) => grown.plants)),
        createsPerSecond: over((store) => store.createsPerSecond),
        p50Ms: over((store) => store.p50Ms),
        p99Ms: over((store) => store.p99Ms),
        ratioToEmpty: spread(
          own.map(({ empty, grown }) => grown.createsPerSecond / empty.createsPerSecond),
        ),
        storeBytes: over((store) => store.storeBytes),
        logBytes: over((store) => store.logBytes),
      };
    }),
  );
}

export function renderGrowthTables(part: GrowthPart): string[] {
  const { rounds, warmupMs, measureMs } = part.settings;
  const conditions = renderFacts([
    [
      'load',
      `closed loop, ${connectionsText(fullLoadConnections)}; filled without HTTP in between; all plants counted at the end`,
    ],
    [
      'pairs',
      `${rounds} for each size, each of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`,
    ],
  ]);
  const header = [
    'size of the store',
    'creates/s',
    '÷ empty beside it',
    'p50 ms',
    'p99 ms',
    'store MB',
    'log MB',
  ];
  const body = growthRows(part).map((row) => [
    `${idSequences[row.ids].label} ids, ${numberText(row.plants)} plants`,
    spreadText(row.createsPerSecond, 0),
    spreadText(row.ratioToEmpty, 2),
    spreadText(row.p50Ms, 2),
    spreadText(row.p99Ms, 2),
    spreadText(row.storeBytes, 0, 1e6),
    spreadText(row.logBytes, 1, 1e6),
  ]);
  return [conditions, renderTable([header, ...body])];
}
