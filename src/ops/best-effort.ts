import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

/** Undefined after a failure or `limits.ops.storeFiguresMs`: operators still see all else. */
export function bestEffort<T>(read: Promise<T>): Promise<T | undefined> {
  const late = delay(limits.ops.storeFiguresMs, undefined, { ref: false });
  return Promise.race([read, late]).catch(() => undefined);
}
