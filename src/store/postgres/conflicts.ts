import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import { isConflict } from './errors.ts';

/**
 * Work that others were in the way of was rolled back, and is tried again after a pause that grows
 * and that no two nodes share.
 */
export async function givingWay<T>(attempt: () => Promise<T>, deadlineMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = Math.random() * limits.postgres.conflictPauseMs * 2 ** tries;
      if (
        !isConflict(error) ||
        tries === limits.postgres.conflictTries ||
        performance.now() + pauseMs >= deadlineMs
      )
        throw error;
      await delay(pauseMs);
    }
  }
}
