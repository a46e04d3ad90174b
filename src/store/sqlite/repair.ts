import { constants, fdatasync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { isErrno } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import { failedSyncsOf, fileOf, openSyncNotes, parts } from './failed-sync.ts';
import { openMs } from './read-file.ts';
import { type Frames, framesIn } from './wal.ts';
import { inTransaction } from './write-lock.ts';

/**
 * Makes sure that the disk has what the files of a store say. Call it before SQLite opens the store
 * for writing: Linux reports a failure of its own writing to one descriptor only, here to the first.
 * On other systems it does nothing.
 *
 * @throws StoreOpenError
 */
export function demandSynced(path: string) {
  // Never closed: that would end the locks that SQLite has on the file, in the whole process.
  const descriptors = parts.map((part) => openIfThere(fileOf(path, part)));
  const failed = new Set(failedSyncsOf(path));
  for (const [index, part] of parts.entries()) if (!isSynced(descriptors[index])) failed.add(part);
  if (failed.size > 0) {
    using notes = openSyncNotes(path);
    notes.add(failed);
    repair(path, failed.has('store'));
    notes.clear();
  }
  return {
    isRepaired: failed.size > 0,
    /**
     * Call it after the last connection of this process is closed: SQLite checkpoints then, and
     * reports no error.
     *
     * @throws StoreError
     */
    async demandClosed(): Promise<void> {
      const [store] = descriptors;
      if (store === undefined) return;
      await promisify(fdatasync)(store).catch((cause) => {
        using notes = openSyncNotes(path);
        notes.add(['store']);
        const says = `the sync of the store has failed (${cause.message})`;
        throw new StoreError('fatal', says, { cause });
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
function repair(path: string, isStore: boolean): void {
  const connections = [new DatabaseSync(path), new DatabaseSync(path)] as const;
  try {
    repairBy(path, isStore, ...connections);
  } catch (cause) {
    unfinished.push(...connections);
    throw new StoreOpenError(
      `a sync of the store at ${resolve(path)} has failed, the disk lacks some of its pages, and ` +
        `the repair is not possible now: ${(cause as Error).message}. Nothing that was ` +
        'acknowledged is lost. Make room, or mend the disk, and start again; or unmount the disk, ' +
        'or restart the machine, which helps always',
      { cause },
    );
  }
  for (const connection of connections) connection.close();
}

/** Keeps connections from the garbage collection, which would close them. */
const unfinished: DatabaseSync[] = [];

function repairBy(path: string, isStore: boolean, lock: DatabaseSync, other: DatabaseSync): void {
  inTransaction(lock, openMs, () => {
    const wal = fileOf(path, 'WAL');
    holdOnDisk(wal);
    const frames = framesIn(wal);
    if (frames.pages.length < checkpoint(other, 'NOOP').log)
      throw new Error(
        'the WAL has lost pages that other programs count on; end all programs that have the ' +
          `store open ("fuser ${wal}" finds them)`,
      );
    if (!isStore) return;
    let copied: number;
    do {
      ({ copied } = checkpoint(other, 'PASSIVE'));
      holdOnDisk(fileOf(path, 'store'), withFrames(wal, frames, copied));
    } while (checkpoint(other, 'PASSIVE').copied !== copied);
  });
}

/** Frames of the WAL, and those of them that are in the store (sqlite.org/pragma.html). */
function checkpoint(db: DatabaseSync, mode: 'NOOP' | 'PASSIVE') {
  const row = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  if (row?.['busy'] !== 0) throw new Error('another program makes a checkpoint');
  return { log: Number(row['log']), copied: Number(row['checkpointed']) };
}

/** Unit of the comparison, and of what is written. The sectors of disks are not larger. */
const blockBytes = 4_096;

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

/**
 * Makes the disk hold what a file says. O_DIRECT reads from and writes to the disk itself (open(2)).
 * On ext4, a page whose first write has failed is not on the disk even after it was written again,
 * and synced, in the usual way.
 *
 * @param correct changes what was read from the file
 */
function holdOnDisk(file: string, correct = (_chunk: Buffer, _at: number) => {}): void {
  const cached = openIfThere(file, constants.O_RDWR);
  if (cached === undefined) return;
  const direct = openSync(file, constants.O_RDWR | constants.O_DIRECT);
  const wanted = Buffer.alloc(limits.disk.chunkBytes);
  // O_DIRECT needs memory at the beginning of a page, where V8 puts a buffer that can grow.
  const onDisk = Buffer.from(new ArrayBuffer(wanted.length, { maxByteLength: wanted.length }));

  function differing(at: number, bytes: number): number[] {
    readSync(direct, onDisk, 0, onDisk.length, at);
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
      throw error;
    }
  }

  for (let at = 0; ; at += wanted.length) {
    const bytes = readSync(cached, wanted, 0, wanted.length, at);
    if (bytes === 0) break;
    wanted.fill(0, bytes);
    correct(wanted.subarray(0, bytes), at);
    const blocks = differing(at, bytes);
    for (const block of blocks) rewrite(at, block, bytes);
    if (blocks.length > 0 && differing(at, bytes).length > 0)
      throw new Error(`the disk does not keep what is written to ${file}`);
  }
  fdatasyncSync(cached);
}
