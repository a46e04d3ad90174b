/** How many plants a second the writer stores when it is fed directly, without HTTP. */
import { type IdKind, idSequences } from '../ids.ts';
import type { Bench } from '../part.ts';
import { type Spread, spread } from '../statistics.ts';
import { feedStore, withStore } from '../store-feeder.ts';
import { renderFacts, renderTable, spreadText } from '../table.ts';
import { type LoadedStore, verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { durationText, numberText } from '../text.ts';

export interface WriterSettings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
  batchPlants: number[];
  ids: IdKind[];
}

interface WriterRun {
  ids: IdKind;
  batchPlants: number;
  plantsPerSecond: number;
  /** Of the whole process: the thread that makes the plants and hands them over, and the writer. */
  cpuUsPerPlant: number;
}

export interface WriterPart {
  settings: WriterSettings;
  runs: WriterRun[];
}

export async function measureWriter(settings: WriterSettings, bench: Bench): Promise<WriterPart> {
  const runs: WriterRun[] = [];
  for (let round = 1; round <= settings.rounds; round++) {
    for (const ids of settings.ids) {
      for (const batchPlants of settings.batchPlants) {
        const run = await withFreshStore(bench.directory, ids, (store) =>
          measureFeeding(store, batchPlants, settings),
        );
        bench.progress(
          `  ${idSequences[ids].label} ids, batches of ${batchPlants}: ${Math.round(run.plantsPerSecond)} plants/s`,
        );
        runs.push(run);
      }
    }
  }
  return { settings, runs };
}

async function measureFeeding(
  loaded: LoadedStore,
  batchPlants: number,
  { warmupMs, measureMs }: WriterSettings,
): Promise<WriterRun> {
  const measured = await withStore(loaded, async (store) => {
    await feedStore(store, loaded, batchPlants, untilAfter(warmupMs));
    const start = { plants: loaded.plants, ms: performance.now(), cpu: process.cpuUsage() };
    await feedStore(store, loaded, batchPlants, untilAfter(measureMs));
    const { user, system } = process.cpuUsage(start.cpu);
    const plants = loaded.plants - start.plants;
    return {
      plantsPerSecond: (1000 * plants) / (performance.now() - start.ms),
      cpuUsPerPlant: (user + system) / plants,
    };
  });
  verifyCount(targets.service, loaded);
  return { ids: loaded.ids, batchPlants, ...measured };
}

function untilAfter(durationMs: number): () => boolean {
  const endMs = performance.now() + durationMs;
  return () => performance.now() < endMs;
}

/** Of the runs with these ids and batches, over the rounds. */
function over(runs: WriterRun[], { ids, batchPlants }: Pick<WriterRun, 'ids' | 'batchPlants'>) {
  const own = runs.filter((run) => run.ids === ids && run.batchPlants === batchPlants);
  return {
    plantsPerSecond: spread(own.map((run) => run.plantsPerSecond)),
    cpuUsPerPlant: spread(own.map((run) => run.cpuUsPerPlant)),
  };
}

/** With the batches with which it is quickest. */
export function quickestFeeding({ settings, runs }: WriterPart, ids: IdKind): Spread | null {
  const rates = settings.batchPlants.map(
    (batchPlants) => over(runs, { ids, batchPlants }).plantsPerSecond,
  );
  return rates.reduce(
    (quickest, rate) => ((rate?.median ?? 0) > (quickest?.median ?? 0) ? rate : quickest),
    null,
  );
}

export function renderWriterTables({ settings, runs }: WriterPart): string[] {
  const { rounds, warmupMs, measureMs } = settings;
  const conditions = renderFacts([
    [
      'load',
      'no HTTP: two batches in flight, from an empty store; each batch synced before its answer',
    ],
    [
      'rounds',
      `${rounds} of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`,
    ],
  ]);
  const body = settings.ids.flatMap((ids) =>
    settings.batchPlants.map((batchPlants) => {
      const { plantsPerSecond, cpuUsPerPlant } = over(runs, { ids, batchPlants });
      const name = `${idSequences[ids].label} ids, batches of ${numberText(batchPlants)}`;
      return [name, spreadText(plantsPerSecond, 0), spreadText(cpuUsPerPlant, 2)];
    }),
  );
  return [conditions, renderTable([['the writer alone', 'plants/s', 'CPU µs/plant'], ...body])];
}
