import {
  existsSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { shortOfSpace } from '../../disk/file-system.ts';
import { compactTime, createFileDurably, inodeOf, removeFileDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { intervalText } from '../../quantity-text.ts';
import { shellQuoted } from '../command-text.ts';
import { tryCheckpoint } from './checkpoints.ts';
import { pragma } from './schema.ts';
import { inTransaction } from './write-lock.ts';

/** The files of a store, as a process has them open until it ends. */
export interface OpenFiles {
  /** The path of the store, without links. */
  readonly path: string;
  /** Descriptors, which hold for all threads. */
  readonly store: number;
  readonly wal: number;
  readonly inode: string | undefined;
  readonly walInode: string | undefined;
  readonly device: number | undefined;
}

/** For a connection that is open, before a plant is acknowledged. */
export function openFiles(db: DatabaseSync): OpenFiles {
  const path = `${db.location()}`;
  const walPath = `${path}-wal`;
  return {
    path,
    store: openSync(path, 'r+'),
    wal: openSync(walPath, 'r'),
    inode: inodeOf(path),
    walInode: inodeOf(walPath),
    device: deviceOf(dirname(path)),
  };
}

/**
 * Saves a store whose files are removed or replaced while this process has them open. To be called
 * when no other thread writes any more.
 *
 * @param db undefined if the files were gone before this thread could open them
 * @returns where the plants are, or why they could not be saved
 */
export function rescue(files: OpenFiles, db?: DatabaseSync): string {
  const { path, store, wal, inode, walInode, device } = files;
  const walPath = `${path}-wal`;
  const folder = dirname(path);
  const isWhole = `the store at ${path} is whole again`;

  /** An empty WAL is what a program leaves that has only looked into the store. */
  function lacksWal(): boolean {
    if (inodeOf(path) !== inode) return false;
    return !statSync(walPath, { throwIfNoEntry: false })?.size;
  }

  /**
   * The store is then as after a crash. A checkpoint would not be as safe: a reader keeps it from
   * copying all pages, and another program may begin a WAL meanwhile.
   *
   * Where only the `-shm` is gone, the store and the WAL have every acknowledged plant. Both stay as
   * they are: another process may have made a new `-shm`, and have written to them since.
   */
  function putWalBack(deadlineMs: number): boolean {
    if (inodeOf(path) !== inode) return false;
    if (inodeOf(walPath) === walInode) return true;
    if (lacksWal()) rmSync(walPath, { force: true });
    return copyTo(walPath, wal, deadlineMs);
  }

  /** Takes less room than the WAL, which has many pages more than once. */
  function checkpoint(db: DatabaseSync): string {
    demandRoom(folder, pragma(db, 'page_count') * pragma(db, 'page_size') - bytesOf(store));
    db.exec(`PRAGMA busy_timeout = ${limits.sqlite.rescueMs}`);
    if (tryCheckpoint(db.prepare('PRAGMA wal_checkpoint(FULL)'))) return isWhole;
    throw new Error('the disk has no room for the WAL, and a reader keeps it out of the store');
  }

  function savePair(deadlineMs: number): string {
    const pair = freeName(path);
    demandRoom(folder, bytesOf(wal) + bytesOf(store));
    try {
      // The store comes last: a file of this name has its WAL.
      if (!copyTo(`${pair}-wal`, wal, deadlineMs) || !copyTo(pair, store, deadlineMs))
        throw new Error(`another program has made ${pair}`);
    } catch (error) {
      for (const file of [pair, `${pair}-wal`]) rmSync(file, { force: true });
      throw error;
    }
    const there = inodeOf(path);
    // SQLite would take the WAL for a part of the file that is there now.
    if (there && there !== inode && inodeOf(walPath) === walInode) removeFileDurably(walPath);
    const [from, to] = [pair, path].map((file) => shellQuoted(`sqlite:${file}`));
    return (
      `every stored plant is in ${pair} and ${pair}-wal; make a store of both with ` +
      `"plant-store copy ${from} ${to}"`
    );
  }

  const deadlineMs = performance.now() + limits.sqlite.rescueMs;
  const save = () => (putWalBack(deadlineMs) ? isWhole : savePair(deadlineMs));
  try {
    demandFolder(folder, device);
    if (db === undefined) return save();
    if (lacksWal() && shortOfSpace(folder, bytesOf(wal))) return checkpoint(db);
    // No other process writes, or begins the WAL again, during a transaction.
    return inTransaction(db, limits.sqlite.rescueMs, save);
  } catch (error) {
    return `the plants could not be saved: ${(error as Error).message}`;
  }
}

/** After an unmount, the path leads to a folder of another disk, or nowhere. */
function demandFolder(folder: string, device: number | undefined): void {
  if (deviceOf(folder) === device) return;
  throw new Error(
    `the folder ${folder} is gone, or its disk is unmounted; put the folder back, or mount the ` +
      'disk again: what was not removed is still there',
  );
}

function demandRoom(folder: string, neededBytes: number): void {
  const obstacle = shortOfSpace(folder, neededBytes);
  if (obstacle !== undefined) throw new Error(obstacle);
}

/** Another service on the same store may save a pair in the same second. */
function freeName(path: string): string {
  for (let atMs = Date.now(); ; atMs += 1_000) {
    const name = `${path}.saved-${compactTime(new Date(atMs))}`;
    if (!existsSync(name) && !existsSync(`${name}-wal`)) return name;
  }
}

/** @returns false if `path` exists, which is left as it is */
function copyTo(path: string, descriptor: number, deadlineMs: number): boolean {
  const chunk = Buffer.allocUnsafe(limits.sqlite.rescueChunkBytes);
  return createFileDurably(path, (copy) => {
    for (let position = 0; ; ) {
      if (performance.now() > deadlineMs)
        throw new Error(`the copy takes longer than ${intervalText(limits.sqlite.rescueMs)}`);
      const bytes = readSync(descriptor, chunk, 0, chunk.length, position);
      if (bytes === 0) return;
      writeFileSync(copy, chunk.subarray(0, bytes));
      position += bytes;
    }
  });
}

function deviceOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.dev;
}

function bytesOf(descriptor: number): number {
  return fstatSync(descriptor).size;
}
