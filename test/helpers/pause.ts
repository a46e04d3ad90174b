import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Short beside what a test waits for, and long beside what it costs to ask. */
const pauseMs = 20;

/**
 * For who asks again and again, or sends without end: what he waits for needs the processor, too.
 *
 * @throws when the signal says that it takes too long
 */
export function pause(signal?: AbortSignal): Promise<void> {
  return delay(pauseMs, undefined, signal && { signal });
}

/** Asks until it is so, for a minute at most: the longer it takes, the less often. */
export async function until<Found>(
  find: () => Promise<Found>,
  isSo: (found: Found) => boolean,
): Promise<Found> {
  const startedMs = performance.now();
  for (;;) {
    const found = await find();
    if (isSo(found)) return found;
    const passedMs = performance.now() - startedMs;
    assert(passedMs < 60_000, `still ${inspect(found)}`);
    await delay(Math.max(pauseMs, passedMs / 10));
  }
}

/**
 * Sends requests until `inRow` of them get the status. None that is sent after `withinMs`, when a
 * change of tokens is in force, gets the one before. On a busy machine, a service may read its tokens
 * too late, and answers 503.
 */
export async function untilInForce(
  send: () => Promise<number | undefined>,
  before: number,
  status: number,
  { inRow = 1, withinMs = 2_000 } = {},
): Promise<void> {
  const startedMs = performance.now();
  const signal = AbortSignal.timeout(60_000);
  for (let found = 0; found < inRow; ) {
    const sentMs = performance.now() - startedMs;
    const got = await send();
    found = got === status ? found + 1 : 0;
    const isEarly = got === before && sentMs < withinMs;
    assert(found > 0 || isEarly || got === 503, `${got} for a request after ${sentMs} ms`);
    if (found === 0) await pause(signal);
  }
}

/** Resolves with the first such name that is made or changed in the folder from now on. */
export function nameIn(folder: string, isOne = (_: string) => true): Promise<string> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_, name) => {
      if (name === null || !isOne(name)) return;
      watcher.close();
      resolve(name);
    });
  });
}
