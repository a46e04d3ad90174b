/** Plants per second that the writer stores without HTTP. */
import { type IdKind, idSequences } from '../ids.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { type Spread, spread } from '../statistics.ts';
import { feedStore, withStore } from '../store-feeder.ts';
import { type Row, renderFacts, renderSpreads } from '../table.ts';
import { type LoadedStore, verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { numberText, roundsText } from '../text.ts';

interface WriterSettings extends Timing {
  batchPlants: number[];
  ids: IdKind[];
}

interface WriterRun {
  ids: IdKind;
  batchPlants: number;
  plantsPerSecond: number;
  /** Of the whole process: the thread that makes the plants, and the writer. */
  cpuUsPerPlant: number;
}

interface WriterPart {
  settings: WriterSettings;
  runs: WriterRun[];
}

export async function measureWriter(settings: WriterSettings, bench: Bench): Promise<WriterPart> {
  const rounds = await measureRounds(settings.rounds, bench, () => measureRound(settings, bench));
  return { settings, runs: rounds.flat() };
}

async function measureRound(
  settings: WriterSettings,
  { directory, progress }: Bench,
): Promise<WriterRun[]> {
  const runs: WriterRun[] = [];
  for (const ids of settings.ids) {
    for (const batchPlants of settings.batchPlants) {
      const run = await withFreshStore(directory, ids, (store) =>
        measureBatches(store, batchPlants, settings),
      );
      progress(`  ${feedText(run)}: ${Math.round(run.plantsPerSecond)} plants/s`);
      runs.push(run);
    }
  }
  return runs;
}

async function measureBatches(
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

function runsOf({ settings, runs }: WriterPart, ids: IdKind): WriterRun[][] {
  return settings.batchPlants.map((batchPlants) =>
    runs.filter((run) => run.ids === ids && run.batchPlants === batchPlants),
  );
}

/** Plants per second with the batch size that has the highest median. */
export function bestPlantsPerSecond(part: WriterPart, ids: IdKind): Spread | null {
  const rates = runsOf(part, ids).map((runs) => spread(runs.map((run) => run.plantsPerSecond)));
  return rates.sort((a, b) => (b?.median ?? 0) - (a?.median ?? 0))[0] ?? null;
}

export function renderWriterTables(part: WriterPart): string[] {
  const conditions = renderFacts({
    load: 'no HTTP: two batches in flight, from an empty store; each batch synced before its answer',
    rounds: roundsText(part.settings),
  });
  const rows = part.settings.ids
    .flatMap((ids) => runsOf(part, ids))
    .flatMap(([first, ...others]): Row<WriterRun>[] =>
      first ? [[feedText(first), [first, ...others]]] : [],
    );
  const table = renderSpreads('the writer alone', rows, [
    ['plants/s', 0, (run) => run.plantsPerSecond],
    ['CPU µs/plant', 2, (run) => run.cpuUsPerPlant],
  ]);
  return [conditions, table];
}

function feedText({ ids, batchPlants }: WriterRun): string {
  return `${idSequences[ids].label} ids, batches of ${numberText(batchPlants)}`;
}
