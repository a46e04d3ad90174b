import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { pause } from './pause.ts';
import { inReverse, temporaryFolder } from './program.ts';
import { skipVisibly } from './skips.ts';

/**
 * A new folder with a file system of its own in memory, for as long as the test takes.
 *
 * @param options of mount(8)
 * @returns undefined where no file system can be mounted; the test is then skipped
 */
export function mounted(t: TestContext, options: string): string | undefined {
  return mountIn(t, () => ['-t', 'tmpfs', '-o', options, 'none'])?.at;
}

/**
 * The same on a disk image, with a way to make it read-only as the kernel does after an error of
 * the disk.
 */
export function mountedDisk(
  t: TestContext,
  bytes: number,
): { at: string; breakDisk(): void; freeze(): void; thaw(): void } | undefined {
  const disk = mountIn(t, (folder) => {
    const image = imageIn(folder, bytes, ...ext4);
    return ['-o', 'loop,errors=remount-ro', image];
  });
  if (disk === undefined) return undefined;
  const freezer = (how: '-f' | '-u') => spawnSync('fsfreeze', [how, disk.at]);
  return {
    ...disk,
    breakDisk: () => writeFileSync(`/sys/fs/ext4/${deviceOf(disk.at)}/trigger_fs_error`, '1'),
    thaw: () => void freezer('-u'),
    /** As the agent of a backup of a virtual machine does: each write waits for `thaw`. */
    freeze(): void {
      t.after(() => freezer('-u'));
      assert.equal(freezer('-f').status, 0);
    },
  };
}

function deviceOf(mountPoint: string): string {
  const args = ['-n', '-o', 'SOURCE', mountPoint];
  return spawnSync('findmnt', args, { encoding: 'utf8' }).stdout.trim().replace('/dev/', '');
}

/** A folder on a drive that answers nothing more after `stall`, as one of a network. */
export async function mountedDrive(
  t: TestContext,
): Promise<{ at: string; stall(): void } | undefined> {
  const owner = inReverse(t);
  const at = await temporaryFolder(owner);
  const drive = spawn('bindfs', ['-f', await temporaryFolder(owner), at], { stdio: 'ignore' });
  const ended = once(drive, 'exit').catch(() => undefined);
  owner.after(async () => {
    // First: a drive that does not answer keeps umount, too.
    drive.kill('SIGKILL');
    await ended;
    spawnSync('umount', ['--lazy', at]);
  });
  const isMounted = () => spawnSync('mountpoint', ['-q', at]).status === 0;
  while (!isMounted() && drive.pid !== undefined && drive.exitCode === null) await pause();
  if (isMounted()) return { at, stall: () => void drive.kill('SIGSTOP') };
  skipVisibly(t, 'bindfs mounts nothing here');
  return undefined;
}

/**
 * A disk of 256 MiB whose writes fail with EIO after the first `bytes`: its image is in a file system
 * of this size.
 */
export function mountedFailingDisk(t: TestContext, bytes: number): string | undefined {
  const small = mounted(t, `size=${bytes}`);
  if (small === undefined) return undefined;
  const image = imageIn(small, 2 ** 28, ...ext4, '-O', '^has_journal');
  return mountIn(t, () => ['-o', 'loop', image])?.at;
}

/**
 * A disk that gets its room only when something is written to it, as a thin volume does. The journal
 * and the tables of the file system have their room.
 */
export function mountedThinDisk(t: TestContext, bytes: number) {
  const pool = mounted(t, `size=${bytes}`);
  if (pool === undefined) return undefined;
  // One group of blocks, which has its tables in front.
  const image = imageIn(
    pool,
    2 ** 27,
    ...ext4,
    ...['-b', '4096', '-J', 'size=4', '-N', '1024', '-E', 'lazy_itable_init=0'],
  );
  const { stdout } = spawnSync('debugfs', ['-R', 'blocks <8>', image], { encoding: 'utf8' });
  const journal = stdout.trim().split(' ').map(Number);
  const tables = Array.from({ length: 256 }, (_, index) => index);
  const descriptor = openSync(image, 'r+');
  const block = Buffer.alloc(4_096);
  for (const number of [...tables, ...journal]) {
    readSync(descriptor, block, 0, block.length, number * block.length);
    writeSync(descriptor, block, 0, block.length, number * block.length);
  }
  closeSync(descriptor);
  const disk = mountIn(t, () => ['-o', 'loop', image]);
  if (disk === undefined) return undefined;
  // The loop driver takes a write for done of which the pool takes only the first pages.
  writeFileSync(`/sys/block/${deviceOf(disk.at)}/queue/max_sectors_kb`, '4');
  const ballast = join(pool, 'ballast');
  return {
    at: disk.at,
    fill(): void {
      // The last write takes what room there is.
      const write = () => {
        for (;;) writeFileSync(ballast, Buffer.alloc(2 ** 20), { flag: 'a' });
      };
      assert.throws(write, { code: 'ENOSPC' });
    },
    makeRoom: () => rmSync(ballast),
    /** The disk as a power cut at this moment leaves it, mounted at another place. */
    powerCut(): string {
      const left = mountIn(t, (folder) => {
        copyFileSync(image, join(folder, 'image'), constants.COPYFILE_FICLONE);
        return ['-o', 'loop', join(folder, 'image')];
      });
      assert(left);
      return left.at;
    },
  };
}

/** A disk with a copy of a file, of which the last page cannot be read: the image ends before it. */
export function mountedUnreadable(t: TestContext, file: string): string | undefined {
  let image = '';
  const disk = mountIn(t, (folder) => {
    const content = join(folder, 'content');
    mkdirSync(content);
    copyFileSync(file, join(content, basename(file)));
    image = imageIn(folder, 2 ** 24, ...ext4, '-O', '^has_journal', '-d', content);
    return ['-o', 'loop', image];
  });
  if (disk) truncateSync(image, readFileSync(image).indexOf(readFileSync(file).subarray(-4_096)));
  return disk && join(disk.at, basename(file));
}

/** A Btrfs. Not each kernel has it. */
export function mountedBtrfs(t: TestContext): string | undefined {
  const hasBtrfs = /\sbtrfs$/m.test(readFileSync('/proc/filesystems', 'utf8'));
  if (!hasBtrfs || spawnSync('mkfs.btrfs', ['--version']).error)
    return void t.skip('there is no Btrfs on this machine');
  return mountIn(t, (folder) => ['-o', 'loop', imageIn(folder, 2 ** 28, 'mkfs.btrfs', '-q')])?.at;
}

const ext4 = ['mkfs.ext4', '-q', '-F'] as const;

/** The image of a new disk, which takes room only where something is written, and is formatted. */
function imageIn(
  folder: string,
  bytes: number,
  mkfs: string,
  ...options: readonly string[]
): string {
  const image = join(folder, 'image');
  writeFileSync(image, '');
  truncateSync(image, bytes);
  spawnSync(mkfs, [...options, image]);
  return image;
}

function mountIn(
  t: TestContext,
  options: (folder: string) => readonly string[],
): { at: string } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-test-'));
  const at = join(folder, 'disk');
  mkdirSync(at);
  const { status, stderr } = spawnSync('mount', [...options(folder), at], { encoding: 'utf8' });
  t.after(() => {
    // Lazily, because a process that is only killed after this may have files open there.
    if (status === 0) spawnSync('umount', ['--lazy', at]);
    rmSync(folder, { recursive: true });
  });
  if (status === 0) return { at };
  skipVisibly(t, `a file system cannot be mounted here: ${stderr}`);
  return undefined;
}
