import { existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { limits } from '../limits.ts';

/**
 * What a file system means for a database. `disk`: what it has synced is still there after a power
 * cut, as far as the drive goes. `network`: other machines write there, and its locks and shared
 * memory are not those of this machine. `memory`: gone with the power. `overlay`: a layer over
 * others, as a container's own. `passed on`: another program or the host of a virtual machine
 * answers, and only it knows what a sync is worth.
 */
export type FileSystemKind = 'disk' | 'network' | 'memory' | 'overlay' | 'passed on';

interface FileSystemType {
  readonly name: string;
  readonly kind: FileSystemKind;
}

/**
 * Where a file is or would be. Bytes and inodes are zero where the file system does not count them.
 */
export interface FileSystem {
  /**
   * Undefined where the operating system does not tell it by a number, or the number is not in the
   * list.
   */
  readonly type: FileSystemType | undefined;
  readonly bytes: number;
  /** What a user without privileges may still take. */
  readonly freeBytes: number;
  readonly inodes: number;
  readonly freeInodes: number;
}

/**
 * By the number that statfs(2) has for it: from linux/magic.h, or from its own source where it is
 * not part of Linux.
 */
const types: ReadonlyMap<number, FileSystemType> = new Map([
  [0x6969, { name: 'NFS', kind: 'network' }],
  [0x517b, { name: 'SMB', kind: 'network' }],
  [0xfe534d42, { name: 'SMB', kind: 'network' }],
  [0xff534d42, { name: 'CIFS', kind: 'network' }],
  [0x5346414f, { name: 'AFS', kind: 'network' }],
  [0x6b414653, { name: 'AFS', kind: 'network' }],
  [0x73757245, { name: 'Coda', kind: 'network' }],
  [0x00c36400, { name: 'Ceph', kind: 'network' }],
  [0x0bd00bd0, { name: 'Lustre', kind: 'network' }],
  [0x47504653, { name: 'GPFS', kind: 'network' }],
  [0x19830326, { name: 'BeeGFS', kind: 'network' }],
  [0x20030528, { name: 'OrangeFS', kind: 'network' }],
  [0xaad7aaea, { name: 'PanFS', kind: 'network' }],
  [0x7461636f, { name: 'OCFS2', kind: 'network' }],
  [0x01161970, { name: 'GFS2', kind: 'network' }],
  [0x564c, { name: 'NCP', kind: 'network' }],
  [0x01021994, { name: 'tmpfs', kind: 'memory' }],
  [0x858458f6, { name: 'ramfs', kind: 'memory' }],
  [0x958458f6, { name: 'hugetlbfs', kind: 'memory' }],
  [0x794c7630, { name: 'overlay', kind: 'overlay' }],
  [0x61756673, { name: 'aufs', kind: 'overlay' }],
  [0x65735546, { name: 'FUSE or virtiofs', kind: 'passed on' }],
  [0x01021997, { name: '9p', kind: 'passed on' }],
  [0x786f4256, { name: 'vboxsf', kind: 'passed on' }],
  [0xbacbacbc, { name: 'vmhgfs', kind: 'passed on' }],
  [0x00c0ffee, { name: 'hostfs', kind: 'passed on' }],
  [0xef53, { name: 'ext4', kind: 'disk' }],
  [0x58465342, { name: 'XFS', kind: 'disk' }],
  [0x9123683e, { name: 'Btrfs', kind: 'disk' }],
  [0x2fc12fc1, { name: 'ZFS', kind: 'disk' }],
  [0xf2f52010, { name: 'F2FS', kind: 'disk' }],
  [0xca451a4e, { name: 'bcachefs', kind: 'disk' }],
]);

/** @param number `f_type` of statfs(2); where `long` has 32 bits, it may come with a sign */
export function fileSystemType(number: number): FileSystemType | undefined {
  return types.get(number >>> 0);
}

/** The file system of what is at `path`, or of the nearest folder above it that is there. */
export function fileSystemOf(path: string): FileSystem {
  const { type, bsize, blocks, bavail, files, ffree } = statfsSync(nearestExisting(path));
  return {
    // Elsewhere the numbers mean something else.
    type: process.platform === 'linux' ? fileSystemType(type) : undefined,
    bytes: blocks * bsize,
    freeBytes: bavail * bsize,
    inodes: files,
    freeInodes: ffree,
  };
}

/** Whether free space is to be warned of. */
export function isSpaceLow({ bytes, freeBytes }: Pick<FileSystem, 'bytes' | 'freeBytes'>): boolean {
  if (freeBytes < limits.disk.freeBytesLow) return true;
  return (
    freeBytes < (bytes * limits.disk.freePercentLow) / 100 &&
    freeBytes < limits.disk.freeBytesPlenty
  );
}

/** The path itself, or the nearest folder above it that is there. */
export function nearestExisting(path: string): string {
  let nearest = resolve(path);
  while (!existsSync(nearest) && nearest !== dirname(nearest)) nearest = dirname(nearest);
  return nearest;
}
