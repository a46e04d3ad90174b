import { setTimeout as sleep } from 'node:timers/promises';
import { idTaken, type NewPlant, plantRefused } from '../contract/plant.ts';
import { problems, Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import type { Settlement } from '../store/plants.ts';
import type { Store } from '../store/store.ts';
import { importId } from '../store/tables/tokens.ts';
import type { Entry, PlantFileReader } from './format.ts';
import type { RawRecord } from './record-cutter.ts';
import { createAtLast } from './retry.ts';

export interface ImportCounts {
  created: number;
  /** The store held the same plant already. */
  same: number;
  readonly refused: Map<number, number>;
}

export interface RefusedRecord {
  readonly record: RawRecord;
  readonly code: number;
  readonly message: string;
}

export interface ImportOptions {
  readonly store: Pick<Store, 'createPlants'>;
  /** In the order of the file. The import waits for what it returns. */
  onRefused(refused: readonly RefusedRecord[]): unknown;
  onProgress(): void;
  /** Once, before an unavailable store is retried. */
  onWait(why: string): void;
}

/**
 * With the outcomes that a client would get. The next chunk is read while a chunk is stored.
 *
 * @param counts are right when this throws, too
 */
export async function importPlants(
  chunks: AsyncIterable<Buffer>,
  reader: PlantFileReader,
  counts: ImportCounts,
  options: ImportOptions,
): Promise<void> {
  const batches = readAll(chunks, reader);
  for (let batch = await batches.next(); !batch.done; ) {
    const ahead = batches.next();
    // The failure is thrown at the end of the loop, after this batch is stored.
    ahead.catch(() => undefined);
    const refused = await createAll(batch.value, counts, options);
    await options.onRefused(refused);
    options.onProgress();
    await sleep(limits.transfer.importPauseMs);
    batch = await ahead;
  }
}

async function* readAll(chunks: AsyncIterable<Buffer>, reader: PlantFileReader) {
  for await (const chunk of chunks) yield* readChunk(reader.read(chunk));
  yield* readChunk(reader.end());
}

/** What comes before an error is stored, wherever a chunk begins. */
function* readChunk(read: Iterable<Entry>): Generator<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    for (const entry of read) entries.push(entry);
  } finally {
    yield entries;
  }
}

async function createAll(entries: readonly Entry[], counts: ImportCounts, options: ImportOptions) {
  const plants = entries
    .map(({ plant }) => plant)
    .filter((plant): plant is NewPlant => !(plant instanceof Refusal));
  const created = plants.map(({ id, name, tag }) => ({ id, name, tag, createdBy: importId }));
  const outcomes = await createAtLast(options.store, created, options.onWait);
  const refused: RefusedRecord[] = [];
  let settled = 0;
  for (const { record, plant } of entries) {
    const refusal =
      plant instanceof Refusal
        ? plant
        : refusalOf(plant, outcomes[settled++] as Settlement, counts);
    if (refusal === undefined) continue;
    const { code } = problems[refusal.problem];
    counts.refused.set(code, (counts.refused.get(code) ?? 0) + 1);
    refused.push({ record, code, message: refusal.message });
  }
  return refused;
}

function refusalOf({ id }: NewPlant, outcome: Settlement, counts: ImportCounts) {
  if (outcome instanceof StoreError) return plantRefused(outcome.message);
  if (outcome === 'taken') return idTaken(id);
  counts[outcome] += 1;
  return undefined;
}
