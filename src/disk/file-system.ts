import { existsSync, type StatsFs, statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { limits } from '../limits.ts';
import { sizeText } from '../quantity-text.ts';

/**
 * What a file system means for a database:
 *
 * - `disk`: synced data survives a power cut, if the drive is honest.
 * - `copy on write`: the same, but each write takes a free block, also into mapped memory.
 * - `network`: other machines write there. Locks and shared memory do not reach them.
 * - `memory`: lost with the power.
 * - `overlay`: a layer over other file systems, such as a container's own.
 * - `passed on`: another program, or the host of a virtual machine, decides what a sync is worth.
 */
export type FileSystemKind =
  | 'disk'
  | 'copy on write'
  | 'network'
  | 'memory'
  | 'overlay'
  | 'passed on';

interface FileSystemType {
  readonly name: string;
  readonly kind: FileSystemKind;
}

export interface FileSystem {
  /** Undefined for an unknown type, and on operating systems other than Linux. */
  readonly type: FileSystemType | undefined;
  /** Zero where the file system does not count its space. */
  readonly bytes: number;
  /** For users without privileges. */
  readonly freeBytes: number;
}

/** By `f_type` of statfs(2), from linux/magic.h: the usual ones, and those that harm a store. */
const types: ReadonlyMap<number, FileSystemType> = new Map([
  [0x6969, { name: 'NFS', kind: 'network' }],
  [0xfe534d42, { name: 'SMB', kind: 'network' }],
  [0xff534d42, { name: 'CIFS', kind: 'network' }],
  [0x00c36400, { name: 'Ceph', kind: 'network' }],
  [0x01021994, { name: 'tmpfs', kind: 'memory' }],
  [0x794c7630, { name: 'overlay', kind: 'overlay' }],
  [0x65735546, { name: 'FUSE or virtiofs', kind: 'passed on' }],
  [0x01021997, { name: '9p', kind: 'passed on' }],
  [0xef53, { name: 'ext4', kind: 'disk' }],
  [0x58465342, { name: 'XFS', kind: 'disk' }],
  [0x9123683e, { name: 'Btrfs', kind: 'copy on write' }],
  [0x2fc12fc1, { name: 'ZFS', kind: 'disk' }],
]);

export function fileSystemOf(path: string): FileSystem {
  return fileSystemFrom(statfsSync(nearestExisting(path)));
}

/** `fileSystemOf` an existing file or folder, without blocking the thread. */
export async function fileSystemOfLater(path: string): Promise<FileSystem> {
  return fileSystemFrom(await statfs(path));
}

function fileSystemFrom({ type, bsize, blocks, bavail }: StatsFs): FileSystem {
  return {
    // Other operating systems have other numbers. A number of 32 bits may have a sign.
    type: process.platform === 'linux' ? types.get(type >>> 0) : undefined,
    bytes: blocks * bsize,
    freeBytes: bavail * bsize,
  };
}

export function isSpaceLow({ bytes, freeBytes }: Pick<FileSystem, 'bytes' | 'freeBytes'>): boolean {
  if (freeBytes < limits.disk.freeBytesLow) return true;
  return (
    freeBytes < (bytes * limits.disk.freePercentLow) / 100 &&
    freeBytes < limits.disk.freeBytesPlenty
  );
}

/** @returns a sentence if fewer than `neededBytes` are free in the folder */
export function shortOfSpace(folder: string, neededBytes: number): string | undefined {
  const { bytes, freeBytes } = fileSystemOf(folder);
  if (bytes === 0 || freeBytes >= neededBytes) return undefined;
  return (
    `the disk is too full: ${sizeText(neededBytes)} are needed in ${folder}, and ` +
    `${sizeText(freeBytes)} are free`
  );
}

export function nearestExisting(path: string): string {
  let nearest = resolve(path);
  while (!existsSync(nearest) && nearest !== dirname(nearest)) nearest = dirname(nearest);
  return nearest;
}
