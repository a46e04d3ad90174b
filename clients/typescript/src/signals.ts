/** The longest time of a timer. */
export const timerMsMax = 2 ** 31 - 1;

/**
 * A signal that ends with another one, or after a time. `AbortSignal.any` and `AbortSignal.timeout`
 * together leak, or never fire, on Node 20.
 */
export function limitSignal(outer: AbortSignal | undefined, ms: number, why: string) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException(why, 'TimeoutError')), ms);
  const forget = outer && onAbort(outer, () => controller.abort(outer.reason));
  return {
    signal: controller.signal,
    /** Ends what is still under way, and removes the timer and the listener. */
    release(): void {
      clearTimeout(timer);
      forget?.();
      controller.abort();
    },
  };
}

const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, or at once. A signal gets one listener, however many
 * creates share it: Node 20 warns of more than ten.
 *
 * @returns a function that forgets the callback
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) callback();
  let all = callbacks.get(signal);
  if (all === undefined) {
    const added = (all = new Set<() => void>());
    callbacks.set(signal, added);
    signal.addEventListener('abort', () => {
      for (const one of added) one();
    });
  }
  all.add(callback);
  return () => all.delete(callback);
}

/** Resolves after the time, or when the signal is aborted. */
export async function sleep(ms: number, outer: AbortSignal): Promise<void> {
  const { signal, release } = limitSignal(outer, ms, '');
  await new Promise<void>((resolve) => onAbort(signal, resolve));
  release();
}

/** What `get` gives. @throws the reason of the signal, also if `get` ignores the signal */
export function within<T>(signal: AbortSignal, get: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    onAbort(signal, () => reject(signal.reason));
    Promise.resolve().then(get).then(resolve, reject);
  });
}
