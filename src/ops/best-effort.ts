import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

/**
 * Undefined if a read of the store fails or takes longer than `limits.ops.storeFiguresMs`, so that
 * operators still see everything else. Readiness reports that the store is away.
 */
export function bestEffort<T>(read: Promise<T>): Promise<T | undefined> {
  const late = delay(limits.ops.storeFiguresMs, undefined, { ref: false });
  return Promise.race([read, late]).catch(() => undefined);
}
