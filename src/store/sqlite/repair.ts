import { closeSync, constants, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isErrno } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { shellQuoted } from '../command-text.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import {
  clearSyncNotes,
  failedSyncsOf,
  fileOf,
  noteFailedSyncs,
  type Part,
  syncPart,
} from './failed-sync.ts';
import { openMs } from './read-file.ts';
import { type Frames, framesIn } from './wal.ts';
import { inTransaction, lockedFor } from './write-lock.ts';

/**
 * Makes sure that the disk has what the files of a store say. Call it before SQLite opens the store
 * for writing: Linux reports a failure of its own writing to one descriptor only, here to the
 * first. On other systems it does nothing.
 *
 * @param mayBeCrash also compares after a crash, which may have come before the note
 * @throws StoreOpenError
 */
export function demandSynced(path: string, mayBeCrash = false) {
  // Never closed: that would end the locks that SQLite has on the file, in the whole process.
  const store = openIfThere(fileOf(path, 'store'));
  const wal = openIfThere(fileOf(path, 'WAL'));
  const failed = new Set(failedSyncsOf(path));
  if (!isSynced(store)) failed.add('store');
  if (!isSynced(wal)) failed.add('WAL');
  if (wal !== undefined) closeSync(wal);
  let lacked = 0;
  if (failed.size > 0) {
    noteFailedSyncs(path, failed);
    lacked = repair(path, failed);
    clearSyncNotes(path);
  } else if (mayBeCrash) lacked = repair(path, failed);
  return {
    isRepaired: failed.size > 0 || lacked > 0,
    /** Call it after the last close: SQLite then checkpoints silently. @throws StoreError */
    async syncAfterClose(): Promise<void> {
      if (store === undefined) return;
      await syncPart('store', store).catch((error) => {
        noteFailedSyncs(path, ['store']);
        throw error;
      });
    },
  };
}

function openIfThere(file: string, flags: number = constants.O_RDONLY): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return openSync(file, flags);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isSynced(descriptor: number | undefined): boolean {
  try {
    if (descriptor !== undefined) fdatasyncSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

/**
 * Repairs the files in their places, also while other programs read the store.
 *
 * The write lock keeps the WAL as it is. Its checksums prove that it has each frame that the other
 * programs count on. In the store, a page that a checkpoint has copied is compared with its frame,
 * and each other page with the memory. Another program may checkpoint meanwhile: the comparison is
 * repeated until no frame was copied during it.
 *
 * A repair that fails takes nothing that was acknowledged: the disk has that in the WAL, or in the
 * store. So the next start may try again. The connections stay open then: the last one of a process
 * would checkpoint when it closes.
 */
function repair(path: string, failed: ReadonlySet<Part>): number {
  const connections = [new DatabaseSync(path), new DatabaseSync(path)] as const;
  const [lock, other] = connections;
  let blocks: number;
  try {
    blocks = inTransaction(lock, openMs, () => repairBy(path, failed, other));
  } catch (cause) {
    // After a crash, what cannot be compared is no failure.
    const isDoubt = failed.size > 0 || (cause instanceof StoreError && cause.failure === 'fatal');
    if (isDoubt) {
      unfinished.push(...connections);
      throw notRepaired(path, cause as Error);
    }
    blocks = 0;
  }
  for (const connection of connections) connection.close();
  return blocks;
}

function notRepaired(path: string, cause: Error): StoreOpenError {
  const store = resolve(path);
  return new StoreOpenError(
    `a sync of the store at ${store} has failed, the disk lacks some of its pages, and the repair ` +
      `is not possible now: ${cause.message}. Nothing that was acknowledged is lost. Make room or ` +
      `mend the disk, end the other programs that have the store open ("fuser ` +
      `${shellQuoted(store)}" finds them), and start again. An unmount of the disk, or a restart ` +
      'of the machine, helps always',
    { cause },
  );
}

/** Keeps connections from the garbage collection, which would close them. */
const unfinished: DatabaseSync[] = [];

/** @returns the number of blocks that the disk lacked */
function repairBy(path: string, failed: ReadonlySet<Part>, db: DatabaseSync): number {
  const { log, copied } = checkpoint(db, 'NOOP');
  // After a crash, no frame counts as copied.
  if (failed.size === 0 && (log <= 0 || copied > 0)) return 0;
  const [store, wal] = [fileOf(path, 'store'), fileOf(path, 'WAL')];
  let blocks = holdOnDisk(wal);
  const frames = framesIn(wal);
  if (frames.pages.length < log)
    throw new StoreError('fatal', 'the WAL lacks pages that other programs count on');
  if (failed.size === 1 && failed.has('WAL')) return blocks;
  const isWhole = failed.has('store');
  for (let before: number | undefined; ; ) {
    const { copied } = checkpoint(db, 'PASSIVE');
    if (copied === before) return blocks;
    before = copied;
    const ranges = isWhole ? wholeFile() : rangesOf(frames);
    blocks += holdOnDisk(store, ranges, copied > 0 ? withFrames(wal, frames, copied) : undefined);
  }
}

/** Frames of the WAL, and those of them that are in the store (sqlite.org/pragma.html). */
function checkpoint(db: DatabaseSync, mode: 'NOOP' | 'PASSIVE') {
  const deadline = performance.now() + openMs;
  for (;;) {
    const row = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
    if (row?.['busy'] === 0)
      return { log: Number(row['log']), copied: Number(row['checkpointed']) };
    if (performance.now() > deadline) throw lockedFor(openMs);
  }
}

/** Puts the copied pages of the WAL in the place of what was read from the store. */
function withFrames(wal: string, { pageBytes, pages, pageAt }: Frames, copied: number) {
  const frameOf = new Map(pages.slice(0, copied).map((page, frame) => [page, frame]));
  const descriptor = openIfThere(wal) as number;
  return (chunk: Buffer, at: number) => {
    for (let offset = 0; offset + pageBytes <= chunk.length; offset += pageBytes) {
      const frame = frameOf.get((at + offset) / pageBytes + 1);
      if (frame !== undefined) readSync(descriptor, chunk, offset, pageBytes, pageAt(frame));
    }
  };
}

/** A place in a file, and bytes. Both are multiples of `blockBytes`. */
type Range = readonly [at: number, bytes: number];

/** Unit of the comparison, and of what is written. The sectors of disks are not larger. */
const blockBytes = 4_096;

function* wholeFile(): Generator<Range> {
  for (let at = 0; ; at += limits.disk.chunkBytes) yield [at, limits.disk.chunkBytes];
}

function* rangesOf({ pages, pageBytes }: Frames): Generator<Range> {
  const bytes = Math.max(pageBytes, blockBytes);
  const places = pages.map((page) => Math.floor(((page - 1) * pageBytes) / bytes) * bytes);
  for (const at of new Set(places.sort((one, other) => one - other))) yield [at, bytes];
}

/**
 * Makes the disk hold what a file says. O_DIRECT reads from and writes to the disk itself
 * (open(2)). On ext4, a page whose first write has failed is not on the disk even after it was
 * written again, and synced, in the usual way.
 *
 * @param ranges ascending
 * @param correct changes what was read from the file
 * @returns the number of blocks that the disk lacked
 */
function holdOnDisk(
  file: string,
  ranges = wholeFile(),
  correct = (_chunk: Buffer, _at: number) => {},
): number {
  const cached = openIfThere(file, constants.O_RDWR);
  if (cached === undefined) return 0;
  const direct = openSync(file, constants.O_RDWR | constants.O_DIRECT);
  const wanted = Buffer.alloc(limits.disk.chunkBytes);
  // O_DIRECT needs memory at the beginning of a page, where V8 puts a buffer that can grow.
  const onDisk = Buffer.from(new ArrayBuffer(wanted.length, { maxByteLength: wanted.length }));

  function differing(at: number, bytes: number): number[] {
    readSync(direct, onDisk, 0, Math.ceil(bytes / blockBytes) * blockBytes, at);
    const blocks: number[] = [];
    for (let block = 0; block < bytes; block += blockBytes) {
      const end = Math.min(block + blockBytes, bytes);
      if (wanted.compare(onDisk, block, end, block, end) !== 0) blocks.push(block);
    }
    return blocks;
  }

  function rewrite(at: number, block: number, bytes: number): void {
    wanted.copy(onDisk, block, block, block + blockBytes);
    try {
      writeSync(direct, onDisk, block, blockBytes, at + block);
    } catch (error) {
      // Linux has forgotten the page.
      writeSync(cached as number, wanted, block, Math.min(blockBytes, bytes - block), at + block);
      throw new StoreError('fatal', (error as Error).message, { cause: error });
    }
  }

  let lacked = 0;
  for (const [at, length] of ranges) {
    const bytes = readSync(cached, wanted, 0, length, at);
    if (bytes === 0) break;
    wanted.fill(0, bytes, length);
    correct(wanted.subarray(0, bytes), at);
    const blocks = differing(at, bytes);
    for (const block of blocks) rewrite(at, block, bytes);
    if (blocks.length > 0 && differing(at, bytes).length > 0)
      throw new StoreError('fatal', `the disk does not keep what is written to ${file}`);
    lacked += blocks.length;
  }
  fdatasyncSync(cached);
  return lacked;
}
