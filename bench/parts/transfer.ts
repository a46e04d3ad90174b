/**
 * Plants per second that `import` and `export` move between a file and a store. The time is that of
 * the whole process.
 */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { newPlantLine } from '../../src/contract/plant.ts';
import { idSequences } from '../ids.ts';
import { type Bench, measureRounds } from '../part.ts';
import { plantsFrom } from '../plant.ts';
import { withStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { type LoadedStore, verifyCount, withFreshStore } from '../target-run.ts';
import { program, targets } from '../targets.ts';
import { plantsText } from '../text.ts';

interface TransferSettings {
  rounds: number;
  plants: number;
}

interface Transfer {
  importMs: number;
  exportMs: number;
}

interface TransferPart {
  settings: TransferSettings;
  transfers: Transfer[];
}

const chunkPlants = 10_000;

export async function measureTransfer(
  settings: TransferSettings,
  bench: Bench,
): Promise<TransferPart> {
  const transfers = await measureRounds(settings.rounds, bench, () =>
    withFreshStore(bench.directory, 'ascending', (store) =>
      transfer(store, settings.plants, bench),
    ),
  );
  return { settings, transfers };
}

/** @throws Error unless the exported file equals the imported file, byte for byte */
async function transfer(
  store: LoadedStore,
  plants: number,
  { progress }: Bench,
): Promise<Transfer> {
  const source = join(dirname(store.path), 'source.ndjson');
  const copy = join(dirname(store.path), 'copy.ndjson');
  await pipeline(lines(plants), createWriteStream(source));
  await withStore(store, async () => undefined); // makes the store
  const importMs = await timeCommand('import', source, store);
  store.plants = plants;
  verifyCount(targets.service, store);
  const exportMs = await timeCommand('export', copy, store);
  if (!(await readFile(source)).equals(await readFile(copy)))
    throw new Error('the exported file differs from the imported file');
  progress(`  import ${importMs.toFixed(0)} ms, export ${exportMs.toFixed(0)} ms`);
  return { importMs, exportMs };
}

function* lines(plants: number): Generator<string> {
  const { firstOrdinal } = idSequences.ascending;
  for (let done = 0; done < plants; done += chunkPlants) {
    const count = Math.min(chunkPlants, plants - done);
    const chunk = plantsFrom('ascending', firstOrdinal + done, count);
    yield chunk.map(({ id, name, tag }) => `${newPlantLine({ id, name, tag })}\n`).join('');
  }
}

async function timeCommand(
  command: 'import' | 'export',
  file: string,
  { path }: LoadedStore,
): Promise<number> {
  const startedMs = performance.now();
  const args = [program, command, file, '--store', `sqlite:${path}`];
  await promisify(execFile)(process.execPath, args);
  return performance.now() - startedMs;
}

/** Plants per second, for each round. */
export function transferRates({ settings, transfers }: TransferPart, ms: keyof Transfer): number[] {
  return transfers.map((transfer) => (1_000 * settings.plants) / transfer[ms]);
}

export function renderTransferTables(part: TransferPart): string[] {
  const { rounds, plants } = part.settings;
  const conditions = renderFacts({
    load: `${plantsText(plants)} with ascending ids, NDJSON, into an empty store and out again; the export is compared byte for byte`,
    rounds: `${rounds}, each whole processes from start to end; median (min to max)`,
  });
  const table = renderSpreads(
    'transfer',
    [
      ['import', transferRates(part, 'importMs')],
      ['export', transferRates(part, 'exportMs')],
    ],
    [['plants/s', 0, (rate) => rate]],
  );
  return [conditions, table];
}
