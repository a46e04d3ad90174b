import { GaveUpError, InvalidInputError, PlantStoreError } from './errors.ts';
import { onAbort } from './signals.ts';
import type {
  CreatePlantsOptions,
  CreateResult,
  CreateTotals,
  NewPlant,
  PlantStoreClient,
} from './types.ts';

/** Results that may wait for the result of an earlier plant, for each create at a time. */
const waitingPerCreate = 8;

/** See `PlantStoreClient.createPlants`. */
export async function createAll<P extends NewPlant>(
  createPlant: PlantStoreClient['createPlant'],
  plants: Iterable<P> | AsyncIterable<P>,
  { concurrency = 16, onRefusal = 'stop', onResult, ...each }: CreatePlantsOptions<P>,
): Promise<CreateTotals> {
  if (!(Number.isInteger(concurrency) && concurrency > 0))
    throw new InvalidInputError('concurrency must be a positive integer');
  const totals = { stored: 0, refused: 0, unknown: 0 };
  let underWay = 0;
  let unreported = 0;
  let isStopped = false;
  let failure: { readonly error: unknown } | undefined;
  let onChange = () => {};
  let onStop = () => {};
  let reported: Promise<void> = Promise.resolve();

  const changed = () => new Promise<void>((resolve) => (onChange = resolve));
  const isFull = () => underWay >= concurrency || unreported >= waitingPerCreate * concurrency;
  const ends = (error: PlantStoreError) => onRefusal === 'stop' || !isAboutPlant(error);

  function stop(): void {
    isStopped = true;
    onStop();
    onChange();
  }

  async function settle(plant: P): Promise<CreateResult<P>> {
    try {
      await createPlant(plant, each);
      return { outcome: 'stored', plant };
    } catch (error) {
      // A member of the plant that throws.
      const known = error instanceof PlantStoreError ? error : new InvalidInputError(`${error}`);
      if (ends(known)) stop();
      return { outcome: known.isUnknown ? 'unknown' : 'refused', plant, error: known };
    } finally {
      underWay -= 1;
      onChange();
    }
  }

  async function report(result: CreateResult<P>): Promise<void> {
    totals[result.outcome] += 1;
    if (result.outcome !== 'stored' && ends(result.error)) failure ??= result;
    await onResult?.(result, { ...totals });
    unreported -= 1;
    onChange();
  }

  function begin(plant: P): void {
    underWay += 1;
    unreported += 1;
    reported = Promise.all([settle(plant), reported]).then(([result]) => report(result));
    reported.catch(stop);
  }

  const iterator = iteratorOf(plants);
  const end: IteratorResult<P> = { done: true, value: undefined };
  /** The end, too, if the run stops before the iterable has another plant. */
  const read = () =>
    new Promise<IteratorResult<P>>((resolve, reject) => {
      onStop = () => resolve(end);
      Promise.resolve(iterator.next()).then(resolve, reject);
    });

  async function beginAll(): Promise<void> {
    while (!isStopped) {
      if (isFull()) await changed();
      else {
        const next = await read();
        if (next === end) break;
        if (next.done) return;
        begin(await next.value);
      }
    }
    // Not awaited: an iterable that has no plant for a long time cannot end before.
    close(iterator);
  }

  const { signal } = each;
  const forget = signal && onAbort(signal, stop);
  try {
    await beginAll();
  } catch (error) {
    failure ??= { error };
  }
  while (underWay > 0) await changed();
  forget?.();
  await reported;
  if (signal?.aborted) throw aborted(totals, signal);
  if (failure) throw failure.error;
  return totals;
}

function iteratorOf<P>(plants: Iterable<P> | AsyncIterable<P>): Iterator<P> | AsyncIterator<P> {
  const all = Object(plants);
  const iterate = all[Symbol.asyncIterator] ?? all[Symbol.iterator];
  if (!iterate) throw new InvalidInputError('plants must be iterable');
  return iterate.call(plants);
}

function close(iterator: Iterator<unknown> | AsyncIterator<unknown>): void {
  // The run has ended. What the iterable says to that changes nothing.
  (async () => iterator.return?.())().catch(() => {});
}

function aborted({ stored, unknown }: CreateTotals, { reason }: AbortSignal): GaveUpError {
  return new GaveUpError(`the run was aborted; ${stored} plants are stored, ${unknown} may be`, {
    isUnknown: unknown > 0,
    cause: reason,
  });
}

/** Whether another plant may be stored although this plant was refused. */
function isAboutPlant(error: PlantStoreError): boolean {
  if (error instanceof InvalidInputError) return true;
  const { status, code } = error;
  // A proxy refuses large bodies, too. Its 400 is about the connection.
  return status === 413 || (status === 400 && code !== undefined);
}
