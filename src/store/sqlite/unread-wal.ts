import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { compactTime } from '../../disk/compact-time.ts';
import { shortOfSpace } from '../../disk/file-system.ts';
import { syncFile, syncFolder } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { damagedWalMark } from '../location.ts';
import { SQLITE_BUSY, sqliteCode } from './errors.ts';

/*
 * SQLite reads a WAL up to the first frame whose salt or checksum is wrong, and forgets the rest
 * without an error (sqlite.org/fileformat2.html#walformat). After a power cut this is right: the rest
 * is a transaction that was not synced. The service syncs each transaction before the next one
 * begins, so the rest is at most one transaction, unless the disk has changed what was synced.
 */

/** The end of a WAL that SQLite has not read. */
export interface UnreadWal {
  /**
   * Transactions that end there. One: a power cut has ended the transaction, or the disk has
   * damaged it. More: the disk has damaged the WAL.
   */
  readonly transactions: number;
  /** The copy of the damaged WAL. Undefined for one transaction, and without space. */
  readonly keptPath: string | undefined;
}

/**
 * Looks behind the last transaction that SQLite reads. Keeps a copy of a damaged WAL beside the
 * store, because the next checkpoint overwrites the WAL.
 *
 * Call it before anything is written.
 */
export function examineWal(db: DatabaseSync): UnreadWal | undefined {
  const wal = `${db.location()}-wal`;
  if ((statSync(wal, { throwIfNoEntry: false })?.size ?? 0) <= headerBytes) return undefined;
  const transactions = countUnread(db, wal);
  if (transactions === 0) return undefined;
  return { transactions, keptPath: transactions > 1 ? keep(wal) : undefined };
}

function keep(wal: string): string | undefined {
  const path = `${wal}${damagedWalMark}${compactTime(new Date())}`;
  try {
    if (shortOfSpace(dirname(wal), statSync(wal).size) !== undefined) return undefined;
    copyFileSync(wal, path, constants.COPYFILE_FICLONE);
    syncFile(path);
    syncFolder(dirname(path));
    return path;
  } catch {
    // The store must start without the copy, too.
    return undefined;
  }
}

const headerBytes = 32;
const frameHeaderBytes = 24;
const triesMax = 3;

function countUnread(db: DatabaseSync, wal: string): number {
  const noop = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const countRead = () => Number(noop.get()?.['log']);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const read = countRead();
    if (read < 0 || countCommits(wal, read) === 0) return 0;
    // Frames of a transaction that another process is committing look alike. The lock is short,
    // because creates of a service wait for it.
    if (!begin(db)) return 0;
    const transactions = countCommits(wal, read);
    db.exec('ROLLBACK');
    if (countRead() === read) return transactions;
  }
  // A service is writing, and has looked when it started.
  return 0;
}

function begin(db: DatabaseSync): boolean {
  try {
    db.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (sqliteCode(error) === SQLITE_BUSY) return false;
    throw error;
  }
}

/** Counts the whole frames behind the read ones that end a transaction and have the salts of the WAL. */
function countCommits(wal: string, readFrames: number): number {
  const descriptor = openSync(wal, 'r');
  try {
    const header = Buffer.alloc(headerBytes);
    readSync(descriptor, header, { position: 0 });
    const first = headerBytes + readFrames * frameBytes;
    const frame = Buffer.alloc(frameHeaderBytes);
    // SQLite ignores a WAL with a damaged header. Its frames still agree on their salts.
    let salts = isSound(header) ? header.subarray(16, 24) : undefined;
    const { size } = fstatSync(descriptor);
    let commits = 0;
    for (let index = 0; index < limits.sqlite.unreadFramesMax; index += 1) {
      const position = first + index * frameBytes;
      if (position + frameBytes > size) break;
      readSync(descriptor, frame, { position });
      salts ??= Buffer.from(frame.subarray(8, 16));
      const isOfWal = frame.subarray(8, 16).equals(salts);
      if (isOfWal && frame.readUInt32BE(commitOffset) > 0) commits += 1;
    }
    return commits;
  } finally {
    closeSync(descriptor);
  }
}

/** The service makes all stores with this page size. */
const frameBytes = frameHeaderBytes + 4_096;
/** The size of the database after a transaction; 0 if the frame does not end one. */
const commitOffset = 4;

/** Whether the checksum of the header is right. The magic number names the order of the bytes. */
function isSound(header: Buffer): boolean {
  const magic = header.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== 0x377f0682) return false;
  const word = (offset: number) =>
    magic & 1 ? header.readUInt32BE(offset) : header.readUInt32LE(offset);
  let [one, two] = [0, 0];
  for (let offset = 0; offset < 24; offset += 8) {
    one = (one + word(offset) + two) >>> 0;
    two = (two + word(offset + 4) + one) >>> 0;
  }
  return header.readUInt32BE(24) === one && header.readUInt32BE(28) === two;
}
