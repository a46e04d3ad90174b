/** How fast plants move between files and stores, and what creates notice of backups. */
import { createWriteStream, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Load, LoadResult } from '../load-generator.ts';
import { keepRows, type Values } from '../measurement.ts';
import { type Bench, fullLoad, measureRounds, type PartResult, type Settings } from '../part.ts';
import { type FileFormat, fileOfPlants, idSequences } from '../plant.ts';
import {
  fillStore,
  type LoadedStore,
  makeStore,
  runCommand,
  runTarget,
  verifyCount,
  withFreshStore,
} from '../target.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

type Add = (line: string, values: Values) => void;

const capacityShare = 0.5;
/** A folder takes one backup a second: the time is in the name. */
const pauseMs = 1_000;

export async function measureBackup(settings: Settings, bench: Bench): Promise<PartResult> {
  const { plants } = settings;
  const { directory } = bench;
  const { rows, add } = keepRows();
  const addRow: Add = (line, values) => {
    bench.progress(`  ${line}: ${Math.round(values.plantsPerSecond ?? 0)} plants/s`);
    add({ x: plantsText(plants), line }, values);
  };
  await measureRounds(settings, bench, async () => {
    for (const format of ['ndjson', 'csv'] as const)
      await withFreshStore(directory, 'ascending', (store) =>
        moveFiles(store, format, plants, addRow),
      );
    await withFreshStore(directory, 'random', (store) => measureBackups(store, settings, addRow));
  });
  return {
    conditions: {
      'plants/s':
        'of whole processes, while nothing else runs; files with ascending ids, backups of a store with random ids',
      creates: `beside the command, which begins again a second after its end: open loop, ${fullLoad.text}, half of the capacity`,
    },
    columns: ['plantsPerSecond', 'createsPerSecond', 'p50Ms', 'p99Ms', 'maxMs'],
    rows,
    plot: { title: 'Plants that import, export and backups move in a second' },
  };
}

/** @throws Error unless the store holds all plants, and the export is as long as the import */
async function moveFiles(
  store: LoadedStore,
  format: FileFormat,
  plants: number,
  add: Add,
): Promise<void> {
  const source = join(dirname(store.path), `source.${format}`);
  const copy = join(dirname(store.path), `copy.${format}`);
  const { firstOrdinal } = idSequences[store.ids];
  await pipeline(fileOfPlants(format, store.ids, firstOrdinal, plants), createWriteStream(source));
  await makeStore(store);
  const rate = (ms: number) => ({ plantsPerSecond: (1_000 * plants) / ms });
  add(`import ${format}`, rate(await runCommand(['import', source], store)));
  store.plants = plants;
  verifyCount(targets.service, store);
  add(`export ${format}`, rate(await runCommand(['export', copy], store)));
  if (format === 'ndjson' && statSync(copy).size !== statSync(source).size)
    throw new Error('the exported file has another size than the imported file');
}

async function measureBackups(
  store: LoadedStore,
  { plants, warmupMs, measureMs }: Settings,
  add: Add,
): Promise<void> {
  const folder = join(dirname(store.path), 'backups');
  mkdirSync(folder);
  await fillStore(store, plants);
  // As a service runs them: with a lower priority than its own.
  const run = (...words: string[]) => runCommand(words, store, { isInBackground: true });
  const jobs = {
    backup: () => run('backup', folder, '--keep', '1d:1d'),
    'verify --against': () => run('verify', '--against', folder),
  };
  const idleMs = new Map<string, number>();
  for (const [label, job] of Object.entries(jobs)) idleMs.set(label, await job());
  await runTarget(targets.service, store, async (running) => {
    const load: Load = { connections: fullLoad.connections, warmupMs, measureMs };
    const { createsPerSecond } = await running.load(load);
    const half = { ...load, arrivalsPerSecond: createsPerSecond * capacityShare };
    add('creates alone', { ...(await running.load(half)) });
    for (const [label, job] of Object.entries(jobs)) {
      const result = await beside(job, () => running.load(half));
      add(label, { ...result, plantsPerSecond: (1_000 * plants) / (idleMs.get(label) ?? 0) });
    }
  });
  verifyCount(targets.service, store);
}

/** Repeats the job until the load is over. */
async function beside(
  job: () => Promise<unknown>,
  load: () => Promise<LoadResult>,
): Promise<LoadResult> {
  let isOver = false;
  const repeated = (async () => {
    while (!isOver) {
      await job();
      await sleep(pauseMs);
    }
  })();
  const result = await load();
  isOver = true;
  await repeated;
  return result;
}
