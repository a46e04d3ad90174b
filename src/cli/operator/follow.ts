import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { RequestList, RequestRecord } from '../../ops/contract.ts';
import { NoAnswerError } from './ask.ts';
import { type OperatorSession, RefusedError } from './session.ts';

export interface Follower {
  show(record: RequestRecord): Promise<unknown> | undefined;
  /** Tells what keeps records from being shown. */
  note(says: string): void;
}

interface Wanted {
  /** The filter, as `GET /api/requests` takes it. */
  readonly query: Readonly<Record<string, string>>;
  /** How many past requests to show. */
  readonly last: number;
  /** Ends after the past requests. */
  readonly isOnce: boolean;
}

/**
 * Shows the last requests that the service remembers, and each further one, until the signal. Goes
 * on after a time without answers.
 *
 * @throws RefusedError for a request that the service does not take; NoAnswerError with `isOnce`
 */
export async function follow(
  session: OperatorSession,
  { query, last, isOnce }: Wanted,
  { show, note }: Follower,
  signal: AbortSignal,
): Promise<void> {
  let after: string | undefined;
  let isAway = false;
  const { tailMax, tailEveryMs } = limits.cli;

  async function showNew(): Promise<void> {
    // The service takes no limit of 0.
    const position =
      after === undefined ? { limit: `${last || 1}` } : { after, limit: `${tailMax}` };
    const parameters = new URLSearchParams({ ...query, ...position });
    const { requests, next, missed } = await session.get<RequestList>(
      `/api/requests?${parameters}`,
      signal,
    );
    if (isAway) note('The service answers again. Requests just before its silence may be missing.');
    isAway = false;
    const shown = after === undefined ? requests.slice(0, last) : requests;
    if (after === undefined && requests.length === 0 && last > 0)
      note(`The service remembers no such request.${isOnce ? '' : ' Waiting for the next one.'}`);
    after = next;
    if (missed > 0)
      note(`Not shown: up to ${missed.toLocaleString('en')} requests, which came too fast.`);
    for (const record of shown.toReversed()) {
      if (signal.aborted) return;
      await show(record);
    }
  }

  while (!signal.aborted) {
    try {
      await showNew();
      if (isOnce) return;
    } catch (error) {
      if (signal.aborted) return;
      if (isOnce || !isPassing(error)) throw error;
      if (!isAway) note(`${error.message}. Trying again.`);
      isAway = true;
    }
    await delay(tailEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

function isPassing(error: unknown): error is Error {
  return error instanceof NoAnswerError || (error instanceof RefusedError && error.status >= 500);
}
