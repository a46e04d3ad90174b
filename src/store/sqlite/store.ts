import { statSync } from 'node:fs';
import type { MessagePort } from 'node:worker_threads';
import { measuresIn, measuresMemory, writerLayout } from '../../threads/measures.ts';
import { changes } from '../small-tables.ts';
import { callsOf } from '../steps.ts';
import type { SharedStore, Store, StoreReader } from '../store.ts';
import { columnsOf, columnsOfCopied, outcomesOf } from './batch.ts';
import { openSqliteReader } from './reader.ts';
import { startWriterThread, type Writer, writerAt } from './writer.ts';

/**
 * A store in one SQLite file. Reads run on the calling thread, writes on a thread of their own.
 *
 * @param lockMs time that a write waits for another process
 * @throws StoreOpenError
 */
export async function openSqliteStore(
  path: string,
  lockMs: number,
  mayMake = true,
): Promise<SharedStore> {
  const measures = measuresMemory(writerLayout);
  const thread = await startWriterThread({ path, lockMs, mayMake, measures });
  const writer = writerAt(thread.connect());
  const reader = openSqliteReader(path);
  let failed = false;
  void thread.failed.then(() => {
    failed = true;
  });
  const close = once(async () => {
    writer.close();
    // The reader stays open: the last connection of a process would sync again when it closes.
    if (failed) return thread.abandon();
    await reader.close();
    // Last: this checkpoints, and removes the WAL.
    await thread.close();
  });
  return {
    ...storeOn(reader, writer),
    isNew: thread.isNew,
    share: () => ({ port: thread.connect() }),
    failed: thread.failed,
    promise: () => undefined,
    metrics: {
      writers: [measuresIn(writerLayout, measures)],
      plantsBytes: async () => statSync(path, { throwIfNoEntry: false })?.size,
      connections: () => undefined,
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The same store on another thread. @param port from `share` */
export function joinSqliteStore(path: string, port: MessagePort): Store {
  const writer = writerAt(port);
  const reader = openSqliteReader(path);
  const close = async () => {
    await reader.close();
    writer.close();
  };
  return { ...storeOn(reader, writer), close, [Symbol.asyncDispose]: close };
}

function storeOn(
  reader: StoreReader,
  writer: Writer,
): Omit<Store, 'close' | typeof Symbol.asyncDispose> {
  return {
    ...reader,
    batchesMax: 1,
    createPlants: async (plants) => outcomesOf(await writer.run('createPlants', columnsOf(plants))),
    copyPlants: async (plants) =>
      outcomesOf(await writer.run('createPlants', columnsOfCopied(plants))),
    ...callsOf(changes, (call) => writer.run('change', call)),
    beat: (atMs) => writer.run('beat', atMs),
  };
}

function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}
