import { attempt, type Outcome } from './attempt.ts';
import { GaveUpError, InvalidInputError, RefusedError } from './errors.ts';
import { limitSignal, sleep } from './limited-signal.ts';
import { bodyOf } from './plant.ts';
import { pauseMs, type RetryBudget } from './retry-budget.ts';
import type { ClientOptions, CreatePlantOptions, NewPlant, StoredPlant } from './types.ts';

/** What the creates of one client share. */
export interface Sender extends Pick<ClientOptions, 'token' | 'onRetry' | 'fetch'> {
  /** The address of `POST /plants`. */
  readonly url: URL;
  readonly attemptTimeout: number;
  readonly budget: RetryBudget;
}

/** One create. */
export interface Delivery extends CreatePlantOptions {
  readonly plant: NewPlant;
  readonly timeout: number;
}

/** Sends a plant until its outcome is final. @throws RefusedError, GaveUpError */
export async function deliver(delivery: Delivery, sender: Sender): Promise<StoredPlant> {
  const { plant, timeout, signal: caller } = delivery;
  const id = BigInt(plant.id);
  // Written once: each attempt sends the same plant, also if the caller changes the object.
  const { name, tag } = plant;
  const body = bodyOf(plant);
  const deadlineMs = performance.now() + timeout;
  const { signal, release } = limitSignal(caller, timeout, `${timeout} ms are over`);
  let attempts = 0;
  let isUnknown = false;
  let last: Outcome | undefined;

  function gaveUp(): GaveUpError {
    const outcome = isUnknown ? 'may be stored' : 'is not stored';
    const why = caller?.aborted
      ? 'the caller has aborted its create'
      : `its ${timeout} ms are over`;
    const reason = last ? `; last failure: ${last.message}` : '';
    return new GaveUpError(`plant ${id} ${outcome}: ${why}${reason}`, {
      ...last,
      isUnknown,
      attempts,
      cause: caller?.aborted ? caller.reason : (last?.cause ?? signal.reason),
    });
  }

  try {
    while (!signal.aborted) {
      attempts += 1;
      const outcome = await sendOnce(`${id}`, body, delivery.traceparent, sender, signal);
      sender.budget.note(outcome.kind === 'stored');
      if (outcome.kind === 'stored') return { id, name, tag, attempts };
      isUnknown ||= outcome.isUnknown;
      if (outcome.kind === 'refused') throw refused(outcome, isUnknown, attempts);
      // An attempt that the end of the create has cut says nothing about the service.
      if (!signal.aborted || !last) last = outcome;
      const pause = (outcome.retryAfterMs ?? 0) + pauseMs(attempts);
      if (performance.now() + pause > deadlineMs) break;
      const { message, status } = outcome;
      sender.onRetry?.({ id, attempts, message, status });
      await sleep(pause, signal);
      await sender.budget.takeTurn(signal);
    }
    throw gaveUp();
  } finally {
    release();
  }
}

/** Never rejects. */
async function sendOnce(
  id: string,
  body: string,
  traceparent: string | undefined,
  { token, url, attemptTimeout, fetch: given = fetch }: Sender,
  outer: AbortSignal,
): Promise<Outcome> {
  const why = `no reply within ${attemptTimeout} ms`;
  const { signal, release } = limitSignal(outer, attemptTimeout, why);
  try {
    const headers = headersFor(typeof token === 'string' ? token : await within(signal, token));
    if (traceparent !== undefined) headers.set('traceparent', traceparent);
    return await attempt(given, url, { headers, body, signal }, id);
  } catch (cause) {
    const message = `no token: ${cause instanceof Error ? cause.message : cause}`;
    return { kind: 'failed', isUnknown: false, message, cause };
  } finally {
    release();
  }
}

/** @throws InvalidInputError */
export function headersFor(token: string): Headers {
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token))
    throw new InvalidInputError('token must be printable ASCII without spaces, and not empty');
  return new Headers({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
}

/** The function of the caller may take longer than the attempt. */
function within<T>(signal: AbortSignal, get: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    Promise.resolve().then(get).then(resolve, reject);
  });
}

function refused(outcome: Outcome, isUnknown: boolean, attempts: number): RefusedError {
  // A 400 is about the plant itself, and so holds for every attempt before. A conflict says that
  // the id holds a different plant.
  const mayBeStored = isUnknown && outcome.status !== 400;
  return new RefusedError(outcome.message, { ...outcome, isUnknown: mayBeStored, attempts });
}
