/**
 * How many plants a second the commands move between a file and the store: whole processes, from
 * their start to their end.
 */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newPlantLine } from '../../src/contract/plant.ts';
import { limits } from '../../src/limits.ts';
import { openStore } from '../../src/stores.ts';
import { idSequences } from '../ids.ts';
import type { Bench } from '../part.ts';
import { plantsFrom } from '../plant.ts';
import { type Spread, spread } from '../statistics.ts';
import { renderFacts, renderTable, spreadText } from '../table.ts';
import { type LoadedStore, verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { plantsText } from '../text.ts';

export interface TransferSettings {
  rounds: number;
  plants: number;
}

interface Transfer {
  importMs: number;
  exportMs: number;
}

export interface TransferPart {
  settings: TransferSettings;
  transfers: Transfer[];
}

const program = fileURLToPath(new URL('../../bin/plant-store.js', import.meta.url));
const plantsAtATime = 10_000;

export async function measureTransfer(
  settings: TransferSettings,
  { directory, progress }: Bench,
): Promise<TransferPart> {
  const transfers: Transfer[] = [];
  for (let round = 1; round <= settings.rounds; round++) {
    const transfer = await withFreshStore(directory, 'ascending', (store) =>
      moveInAndOut(store, settings.plants),
    );
    progress(
      `  import ${transfer.importMs.toFixed(0)} ms, export ${transfer.exportMs.toFixed(0)} ms`,
    );
    transfers.push(transfer);
  }
  return { settings, transfers };
}

/** @throws Error unless the export is the same file, byte for byte */
async function moveInAndOut(store: LoadedStore, plants: number): Promise<Transfer> {
  const [source, copy] = ['source.ndjson', 'copy.ndjson'].map((name) =>
    join(dirname(store.path), name),
  ) as [string, string];
  await pipeline(lines(plants), createWriteStream(source));
  await (await openStore({ engine: 'sqlite', path: store.path }, limits.cli.lockMs)).close();
  const importMs = await timeCommand('import', source, store);
  store.plants = plants;
  verifyCount(targets.service, store);
  const exportMs = await timeCommand('export', copy, store);
  if (!(await readFile(source)).equals(await readFile(copy)))
    throw new Error('what was exported is not what was imported');
  return { importMs, exportMs };
}

function* lines(plants: number): Generator<string> {
  for (let ordinal = 0; ordinal < plants; ordinal += plantsAtATime) {
    const some = plantsFrom(
      'ascending',
      idSequences.ascending.firstOrdinal + ordinal,
      Math.min(plantsAtATime, plants - ordinal),
    );
    yield some.map(({ id, name, tag }) => `${newPlantLine({ id, name, tag })}\n`).join('');
  }
}

async function timeCommand(
  command: 'import' | 'export',
  file: string,
  { path }: LoadedStore,
): Promise<number> {
  const startedMs = performance.now();
  await promisify(execFile)(process.execPath, [
    program,
    command,
    file,
    '--store',
    `sqlite:${path}`,
  ]);
  return performance.now() - startedMs;
}

export function importRate(part: TransferPart): Spread | null {
  return rate(part, ({ importMs }) => importMs);
}

export function exportRate(part: TransferPart): Spread | null {
  return rate(part, ({ exportMs }) => exportMs);
}

function rate(
  { settings, transfers }: TransferPart,
  msOf: (transfer: Transfer) => number,
): Spread | null {
  return spread(transfers.map((transfer) => (1_000 * settings.plants) / msOf(transfer)));
}

export function renderTransferTables(part: TransferPart): string[] {
  const { rounds, plants } = part.settings;
  const conditions = renderFacts([
    [
      'load',
      `${plantsText(plants)} with ascending ids, NDJSON, into an empty store and out again; the export is compared byte for byte`,
    ],
    ['rounds', `${rounds}, each whole processes from start to end; median (min to max)`],
  ]);
  const table = renderTable([
    ['transfer', 'plants/s'],
    ['import', spreadText(importRate(part), 0)],
    ['export', spreadText(exportRate(part), 0)],
  ]);
  return [conditions, table];
}
