import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
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
): { at: string; breakDisk(): void } | undefined {
  const disk = mountIn(t, (folder) => {
    const image = join(folder, 'image');
    writeFileSync(image, Buffer.alloc(bytes));
    spawnSync('mkfs.ext4', ['-q', '-F', image]);
    return ['-o', 'loop,errors=remount-ro', image];
  });
  if (disk === undefined) return undefined;
  const device = spawnSync('findmnt', ['-n', '-o', 'SOURCE', disk.at], { encoding: 'utf8' })
    .stdout.trim()
    .replace('/dev/', '');
  return {
    ...disk,
    breakDisk: () => writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1'),
  };
}

/**
 * A disk of 256 MiB whose writes fail with EIO after the first `bytes`: its image is in a file system
 * of this size.
 */
export function mountedFailingDisk(t: TestContext, bytes: number): string | undefined {
  const small = mounted(t, `size=${bytes}`);
  if (small === undefined) return undefined;
  const image = join(small, 'image');
  writeFileSync(image, '');
  truncateSync(image, 2 ** 28);
  spawnSync('mkfs.ext4', ['-q', '-F', '-O', '^has_journal', image]);
  return mountIn(t, () => ['-o', 'loop', image])?.at;
}

/** A disk with a copy of a file, of which the last page cannot be read: the image ends before it. */
export function mountedUnreadable(t: TestContext, file: string): string | undefined {
  let image = '';
  const disk = mountIn(t, (folder) => {
    image = join(folder, 'image');
    const content = join(folder, 'content');
    mkdirSync(content);
    copyFileSync(file, join(content, basename(file)));
    writeFileSync(image, Buffer.alloc(2 ** 24));
    spawnSync('mkfs.ext4', ['-q', '-F', '-O', '^has_journal', '-d', content, image]);
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
  return mountIn(t, (folder) => {
    const image = join(folder, 'image');
    writeFileSync(image, '');
    truncateSync(image, 2 ** 28);
    spawnSync('mkfs.btrfs', ['-q', image]);
    return ['-o', 'loop', image];
  })?.at;
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
