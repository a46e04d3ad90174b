import assert from 'node:assert/strict';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { startProgram } from './program.ts';
import { on } from './run-here.ts';

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

/** Starts a service, and kills it as soon as something has happened, or when it is ready. */
export async function killedAt(happening: Promise<unknown>, store: string): Promise<void> {
  const child = startProgram(['serve', '--port', '0', ...on(store)]);
  const exit = once(child, 'exit');
  const isReady = (async () => {
    for await (const text of child.stderr.setEncoding('utf8')) if (/"ready"/.test(text)) return;
  })();
  await Promise.race([happening, isReady, exit]);
  child.kill('SIGKILL');
  await exit;
  assert.equal(child.signalCode, 'SIGKILL');
}
