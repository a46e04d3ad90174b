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
