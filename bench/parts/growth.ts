/**
 * Full load on stores of different sizes. An empty store is measured right before each, so that the
 * drift of the machine meets both.
 */
import { statSync } from 'node:fs';
import { keepRows, type Values } from '../measurement.ts';
import { type Bench, fullLoad, measureRounds, type PartResult, type Settings } from '../part.ts';
import {
  fillStore,
  type LoadedStore,
  type RunningTarget,
  runOnFreshStore,
  runTarget,
  verifyCount,
  withFreshStore,
} from '../target.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

/** Counts the plants of a store that grows once, at the end. */
export async function measureGrowth(settings: Settings, bench: Bench): Promise<PartResult> {
  const { rows, add } = keepRows();
  const measureGrowing = async (store: LoadedStore) => {
    for (const size of settings.sizes) {
      const place = { x: plantsText(size), line: `${store.ids} ids` };
      await fillStore(store, size);
      await measureRounds(settings, bench, async () => {
        const values = await measurePair(store, settings, bench);
        bench.progress(`  ${place.line}, ${place.x}: ${values.createsPerSecond} creates/s`);
        add(place, values);
      });
    }
    verifyCount(targets.service, store);
  };
  await withFreshStore(bench.directory, 'ascending', measureGrowing);
  await withFreshStore(bench.directory, 'random', measureGrowing);
  return {
    conditions: {
      load: `closed loop, ${fullLoad.text}; filled by import in between; all plants counted at the end`,
    },
    columns: ['createsPerSecond', 'ratioToEmpty', 'p50Ms', 'p99Ms', 'storeBytes', 'walBytes'],
    rows,
    plot: { title: 'Creates per second against the size of the store' },
  };
}

async function measurePair(
  store: LoadedStore,
  { warmupMs, measureMs }: Settings,
  { directory }: Bench,
): Promise<Values> {
  const load = { connections: fullLoad.connections, warmupMs, measureMs };
  const options = { directory, ids: store.ids };
  const empty = await runOnFreshStore(targets.service, options, (running) => running.load(load));
  const measure = async (running: RunningTarget) => ({
    ...(await running.load(load)),
    storeBytes: statSync(store.path).size,
    walBytes: statSync(`${store.path}-wal`).size,
  });
  const grown = await runTarget(targets.service, store, measure);
  return { ...grown, ratioToEmpty: grown.createsPerSecond / empty.createsPerSecond };
}
