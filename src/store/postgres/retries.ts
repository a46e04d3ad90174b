import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import { isUndone } from './errors.ts';

/**
 * Retries what changed nothing. The pause grows; it is random, so two nodes do not collide again.
 */
export async function retryUndone<T>(attempt: () => Promise<T>, deadlineMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = Math.random() * limits.postgres.conflictPauseMs * 2 ** tries;
      if (
        !isUndone(error) ||
        tries === limits.postgres.conflictTries ||
        performance.now() + pauseMs >= deadlineMs
      )
        throw error;
      await delay(pauseMs);
    }
  }
}
