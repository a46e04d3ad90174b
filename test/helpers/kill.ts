import assert from 'node:assert/strict';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { startProgram } from './program.ts';

/** Resolves at that change of a file in the folder, counted from now. */
export function changesIn(folder: string, count: number, isOne = () => true): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const watcher = watch(folder, () => {
      if (!isOne()) return;
      left -= 1;
      if (left > 0) return;
      watcher.close();
      resolve();
    });
    watcher.unref();
  });
}

/**
 * Starts a command of the real program, and kills it as soon as something has happened, or when it
 * has printed something.
 */
export async function killedAt(happening: Promise<unknown>, args: readonly string[]) {
  const child = startProgram(args);
  const exit = once(child, 'exit');
  await Promise.race([happening, once(child.stderr, 'data'), exit]);
  child.kill('SIGKILL');
  await exit;
  assert.equal(child.signalCode, 'SIGKILL');
}
