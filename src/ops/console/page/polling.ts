import { useEffect, useState } from 'preact/hooks';

export interface Polled<Answer> {
  /** The last one; undefined before the first. */
  readonly answer: Answer | undefined;
  /** Why there is none now. */
  readonly error: Error | undefined;
}

/** Asks again and again while the page can be seen: `everyMs` after each answer, good or bad. */
export function usePolling<Answer>(ask: (signal: AbortSignal) => Promise<Answer>, everyMs: number): Polled<Answer> {
  const [polled, setPolled] = useState<Polled<Answer>>({ answer: undefined, error: undefined });
  useEffect(() => {
    const stop = new AbortController();
    const update = (change: Partial<Polled<Answer>>) => {
      if (!stop.signal.aborted) setPolled((last) => ({ ...last, error: undefined, ...change }));
    };
    const poll = async () => {
      while (!stop.signal.aborted) {
        await untilVisible();
        await ask(stop.signal).then(
          (answer) => update({ answer }),
          (error: Error) => update({ error }),
        );
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    };
    void poll();
    return () => stop.abort();
  }, [ask, everyMs]);
  return polled;
}

async function untilVisible(): Promise<void> {
  while (document.hidden) await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
