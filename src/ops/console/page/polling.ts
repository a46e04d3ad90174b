import { useEffect, useState } from 'preact/hooks';

export interface Polled<Answer> {
  /** The last one; undefined before the first. */
  readonly answer: Answer | undefined;
  /** Why there is none now. */
  readonly error: Error | undefined;
  /**
   * Whether the last answer tells how things were: there is an error, or a newer answer does not
   * come.
   */
  readonly isStale: boolean;
}

/** A service that does well answers sooner. One that hangs is only given up after ten seconds. */
const staleMs = 3_000;

/** Asks again and again while the page can be seen: `everyMs` after each answer, good or bad. */
export function usePolling<Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  everyMs: number,
): Polled<Answer> {
  const [polled, setPolled] = useState<Polled<Answer>>({
    answer: undefined,
    error: undefined,
    isStale: false,
  });
  useEffect(() => {
    const stop = new AbortController();
    const update = (change: Partial<Polled<Answer>>) => {
      if (!stop.signal.aborted) setPolled((last) => ({ ...last, ...change }));
    };
    const poll = async () => {
      while (!stop.signal.aborted) {
        await untilVisible();
        const late = setTimeout(() => update({ isStale: true }), staleMs);
        await ask(stop.signal).then(
          (answer) => update({ answer, error: undefined, isStale: false }),
          (error: Error) => update({ error, isStale: true }),
        );
        clearTimeout(late);
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    };
    void poll();
    return () => stop.abort();
  }, [ask, everyMs]);
  return polled;
}

async function untilVisible(): Promise<void> {
  while (document.hidden)
    await new Promise((resolve) =>
      document.addEventListener('visibilitychange', resolve, { once: true }),
    );
}
