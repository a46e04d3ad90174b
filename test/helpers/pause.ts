import { setTimeout as delay } from 'node:timers/promises';

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

/** Asks until it is so, for a minute at most. */
export async function until<Found>(
  find: () => Promise<Found>,
  isSo: (found: Found) => boolean,
): Promise<Found> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    const found = await find();
    if (isSo(found)) return found;
    await pause(signal);
  }
}
