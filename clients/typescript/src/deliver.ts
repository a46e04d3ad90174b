import { attempt, type Outcome, textOf } from './attempt.ts';
import { GaveUpError, InvalidInputError, RefusedError } from './errors.ts';
import { bodyOf, type ExactPlant } from './plant.ts';
import { pauseMs, type RetryBudget } from './retry-budget.ts';
import { limitSignal, sleep, within } from './signals.ts';
import type { ClientOptions, CreatePlantOptions, RetriedFailure, StoredPlant } from './types.ts';

/** What the creates of one client share. */
export interface Sender extends Pick<ClientOptions, 'token' | 'onRetry' | 'fetch'> {
  /** The address of `POST /plants`. */
  readonly url: URL;
  readonly attemptTimeout: number;
  readonly budget: RetryBudget;
}

/** One create. */
export interface Delivery extends CreatePlantOptions {
  readonly plant: ExactPlant;
  readonly timeout: number;
}

/** Sends a plant until its outcome is final. @throws RefusedError, GaveUpError */
export async function deliver(delivery: Delivery, sender: Sender): Promise<StoredPlant> {
  const { plant, timeout, signal: caller } = delivery;
  const { id } = plant;
  const body = bodyOf(plant);
  const deadlineMs = performance.now() + timeout;
  const { signal, release } = limitSignal(caller, timeout, `${timeout} ms are over`);
  let attempts = 0;
  let isUnknown = false;
  let last: Outcome | undefined;

  function gaveUp(): GaveUpError {
    const outcome = isUnknown ? 'may be stored' : 'is not stored';
    const ended = signal.aborted ? 'are over' : 'would be over before the next attempt';
    const why = caller?.aborted
      ? 'the caller has aborted its create'
      : `its ${timeout} ms ${ended}`;
    const reason = last ? `; last failure: ${last.message}` : '';
    return new GaveUpError(`plant ${id} ${outcome}: ${why}${reason}`, {
      ...last,
      isUnknown,
      attempts,
      cause: caller?.aborted ? caller.reason : (last?.cause ?? signal.reason),
    });
  }

  try {
    for (let tries = 1; !signal.aborted; tries += 1) {
      const outcome = await sendOnce(body, delivery, sender, signal);
      if (outcome.kind !== 'tokenless') {
        attempts += 1;
        sender.budget.note(outcome.kind === 'stored');
      }
      if (outcome.kind === 'stored') return { ...plant, attempts };
      isUnknown ||= outcome.isUnknown;
      if (outcome.kind === 'refused') throw refused(outcome, isUnknown, attempts);
      // An attempt that the end of the create has cut says nothing about the service.
      if (!signal.aborted || !last) last = outcome;
      const pause = (outcome.retryAfterMs ?? 0) + pauseMs(tries);
      if (performance.now() + pause > deadlineMs) break;
      const { message, status } = outcome;
      void tell(sender.onRetry, { id, attempts, message, status, pause });
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
  body: string,
  { plant, traceparent }: Delivery,
  { token, url, attemptTimeout, fetch: given = fetch }: Sender,
  outer: AbortSignal,
): Promise<Outcome> {
  const why = `no reply within ${attemptTimeout} ms`;
  const { signal, release } = limitSignal(outer, attemptTimeout, why);
  try {
    const headers = headersFor(typeof token === 'string' ? token : await within(signal, token));
    if (traceparent !== undefined) headers.set('traceparent', traceparent);
    return await attempt(given, url, { headers, body, signal }, plant.id);
  } catch (cause) {
    // Only a token can fail: an attempt never rejects.
    const message = `no token: ${textOf(cause)}`;
    return { kind: 'tokenless', isUnknown: false, message, cause };
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

/** The create goes on, whatever the log of the caller does. */
async function tell(onRetry: Sender['onRetry'], failure: RetriedFailure): Promise<void> {
  try {
    await onRetry?.(failure);
  } catch {}
}

function refused(outcome: Outcome, isUnknown: boolean, attempts: number): RefusedError {
  // A 400 of the service is about the plant itself, and so holds for every attempt before. A
  // conflict says that the id holds a different plant.
  const isAboutPlant = outcome.status === 400 && outcome.code !== undefined;
  const facts = { ...outcome, isUnknown: isUnknown && !isAboutPlant, attempts };
  return new RefusedError(outcome.message, facts);
}
