/** The longest time of a timer. */
export const timerMsMax = 2 ** 31 - 1;

/** A signal that ends with another one, or after a time. */
export interface LimitedSignal {
  readonly signal: AbortSignal;
  /** Removes the timer and the listener. */
  release(): void;
}

/** `AbortSignal.any` and `AbortSignal.timeout` together leak, or never fire, on Node 20. */
export function limitSignal(
  outer: AbortSignal | undefined,
  ms: number,
  why: string,
): LimitedSignal {
  const controller = new AbortController();
  const end = () => controller.abort(outer?.reason);
  const timer = setTimeout(() => controller.abort(new DOMException(why, 'TimeoutError')), ms);
  if (outer?.aborted) end();
  outer?.addEventListener('abort', end);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      outer?.removeEventListener('abort', end);
    },
  };
}

/** Resolves after the time, or when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
