import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

/**
 * Undefined if it fails, or takes too long: operators are to see the rest also then, and readiness
 * tells that the store is away.
 */
export function known<T>(read: Promise<T>): Promise<T | undefined> {
  const late = delay(limits.ops.storeFiguresMs, undefined, { ref: false });
  return Promise.race([read, late]).catch(() => undefined);
}
