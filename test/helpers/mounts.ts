import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './program.ts';

const MiB = 2 ** 20;

/**
 * A new file system in memory with so much space. It is unmounted when the test ends.
 *
 * @returns its folder, or undefined where the test may not mount: it is skipped, and the line says so. CI does not allow that.
 */
export function mountMemory(t: TestContext, mebibytes: number): Promise<string | undefined> {
  return mounted(t, (folder) => run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder));
}

/** The same on a disk image, with a way to make it read-only as the kernel does after an error of the disk. */
export async function mountDisk(t: TestContext, mebibytes: number): Promise<{ folder: string; breakDisk(): void } | undefined> {
  const image = join(await temporaryFolder(t), 'disk');
  writeFileSync(image, Buffer.alloc(mebibytes * MiB));
  const folder = await mounted(t, (target) => {
    run('mkfs.ext4', '-q', '-F', image);
    run('mount', '-o', 'loop,errors=remount-ro', image, target);
  });
  if (folder === undefined) return undefined;
  const device = run('findmnt', '-n', '-o', 'SOURCE', folder).trim().replace('/dev/', '');
  return { folder, breakDisk: () => writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1') };
}

async function mounted(t: TestContext, mount: (folder: string) => void): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-mount-'));
  try {
    mount(folder);
  } catch (error) {
    assert(!process.env['CI'], `CI must be able to mount: ${error}`);
    t.skip(`cannot mount a file system here (${(error as Error).message.trim()})`);
    return undefined;
  }
  t.after(() => {
    run('umount', '--lazy', folder);
    return rmdir(folder);
  });
  return folder;
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
