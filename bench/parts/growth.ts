/**
 * Full load on stores of different sizes. An empty store is measured right before each, so that the
 * drift of the machine meets both.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sqliteEngine } from '../../src/stores.ts';
import type { LoadResult } from '../generator/order.ts';
import { type IdKind, idSequences } from '../ids.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { fillStore } from '../store-feeder.ts';
import { type Row, renderFacts, renderSpreads } from '../table.ts';
import {
  type LoadedStore,
  runOnFreshStore,
  runTarget,
  type TargetUnderLoad,
  verifyCount,
} from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText, timesText } from '../text.ts';

/** `rounds`: pairs of an empty and a grown store at each size. */
interface GrowthSettings extends Timing {
  /** Ascending. */
  sizes: number[];
  ids: IdKind[];
}

interface StoreUnderLoad extends LoadResult {
  /** At the start of the load. */
  plants: number;
  storeBytes: number;
  /** The WAL at the end of the load, while the service is running. */
  logBytes: number;
}

interface Pair {
  ids: IdKind;
  size: number;
  empty: StoreUnderLoad;
  /** At size 0, the empty store. */
  grown: StoreUnderLoad;
}

export interface GrowthPart {
  settings: GrowthSettings;
  pairs: Pair[];
}

/** Counts the plants of a store that grows once, at the end. */
export async function measureGrowth(settings: GrowthSettings, bench: Bench): Promise<GrowthPart> {
  const stores = settings.ids.map((ids): LoadedStore => {
    const folder = mkdtempSync(join(bench.directory, 'growing-'));
    return { path: join(folder, 'plants.db'), ids, plants: 0 };
  });
  const pairs: Pair[] = [];
  for (const size of settings.sizes) {
    for (const store of stores) {
      bench.progress(`${idSequences[store.ids].label} ids, ${numberText(size)} plants`);
      await fillStore(store, size);
      const measure = () => measurePair(store, size, settings, bench);
      pairs.push(...(await measureRounds(settings.rounds, bench, measure)));
    }
  }
  for (const store of stores) {
    verifyCount(targets.service, store);
    rmSync(dirname(store.path), { recursive: true });
  }
  return { settings, pairs };
}

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
  { plants, path }: LoadedStore,
  { warmupMs, measureMs }: GrowthSettings,
): Promise<StoreUnderLoad> {
  const result = await target.load({ connections: fullLoadConnections, warmupMs, measureMs });
  return {
    ...result,
    plants,
    storeBytes: statSync(path).size,
    logBytes: sqliteEngine({ engine: 'sqlite', path }).walBytes(),
  };
}

/** The pairs of one size and one kind of ids. */
interface GrowthRow {
  ids: IdKind;
  plants: number;
  pairs: Pair[];
}

export function growthRows({ settings, pairs }: GrowthPart): GrowthRow[] {
  return settings.ids.flatMap((ids) =>
    settings.sizes.map((size) => {
      const own = pairs.filter((pair) => pair.ids === ids && pair.size === size);
      return { ids, plants: Math.min(...own.map(({ grown }) => grown.plants)), pairs: own };
    }),
  );
}

export function ratioToEmpty({ empty, grown }: Pair): number {
  return grown.createsPerSecond / empty.createsPerSecond;
}

export function renderGrowthTables(part: GrowthPart): string[] {
  const conditions = renderFacts({
    load: `closed loop, ${connectionsText(fullLoadConnections)}; filled without HTTP in between; all plants counted at the end`,
    pairs: `${part.settings.rounds} for each size, each of ${timesText(part.settings)}; median (min to max)`,
  });
  const rows = growthRows(part).map(
    ({ ids, plants, pairs }): Row<Pair> => [
      `${idSequences[ids].label} ids, ${numberText(plants)} plants`,
      pairs,
    ],
  );
  const table = renderSpreads('size of the store', rows, [
    ['creates/s', 0, ({ grown }) => grown.createsPerSecond],
    ['÷ empty beside it', 2, ratioToEmpty],
    ['p50 ms', 2, ({ grown }) => grown.p50Ms],
    ['p99 ms', 2, ({ grown }) => grown.p99Ms],
    ['store MB', 0, ({ grown }) => grown.storeBytes, 1e6],
    ['WAL MB', 1, ({ grown }) => grown.logBytes, 1e6],
  ]);
  return [conditions, table];
}
