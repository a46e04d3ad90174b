import { useEffect, useState } from 'preact/hooks';
import { AwayError } from './api.ts';

type Ask<Answer> = (signal: AbortSignal) => Promise<Answer>;

const awayMs = 2_000;

/** Asks again after a while, because the service was away, unless the signal is aborted first. */
export function afterOutage(again: () => void, signal: AbortSignal): void {
  const waiting = setTimeout(again, awayMs);
  signal.addEventListener('abort', () => clearTimeout(waiting));
}

/**
 * Asks once for each `ask`, and again on `refresh` and after an outage. The last answer stays
 * beside an error.
 */
export function useAnswer<Answer>(ask: Ask<Answer>) {
  const [state, setState] = useState<{ answer?: Answer; error?: Error }>({});
  const [turn, setTurn] = useState(0);
  const refresh = () => setTurn((last) => last + 1);
  useEffect(() => {
    const stop = new AbortController();
    ask(stop.signal).then(
      (answer) => setState({ answer }),
      (error: Error) => {
        if (stop.signal.aborted) return;
        setState((last) => ({ ...last, error }));
        if (error instanceof AwayError) afterOutage(refresh, stop.signal);
      },
    );
    return () => stop.abort();
  }, [ask, turn]);
  return { ...state, refresh };
}

export interface Polled<Answer> {
  /** The last answer; undefined before the first. */
  readonly answer?: Answer;
  /** When it came, in milliseconds since the epoch. */
  readonly answeredAtMs?: number;
  /** Why the last request failed. */
  readonly error?: Error | undefined;
  /** Whether the answer is out of date: there is an error, or the next answer is late. */
  readonly isStale: boolean;
  /** Asks at once. */
  readonly refresh: () => void;
}

/** A healthy service answers sooner. A request fails only after 10 s. */
const staleMs = 3_000;

/** Asks `everyMs` after each answer or error, while the page is visible. */
export function usePolling<Answer>(ask: Ask<Answer>, everyMs: number): Polled<Answer> {
  const [polled, setPolled] = useState<Omit<Polled<Answer>, 'refresh'>>({ isStale: false });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const update = (change: Partial<typeof polled>) => {
      if (!stop.signal.aborted) setPolled((last) => ({ ...last, ...change }));
    };
    const poll = async () => {
      while (!stop.signal.aborted) {
        await untilVisible();
        const late = setTimeout(() => update({ isStale: true }), staleMs);
        await ask(stop.signal).then(
          (answer) =>
            update({ answer, answeredAtMs: Date.now(), error: undefined, isStale: false }),
          (error: Error) => update({ error, isStale: true }),
        );
        clearTimeout(late);
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    };
    void poll();
    return () => stop.abort();
  }, [ask, everyMs, turn]);
  return { ...polled, refresh: () => setTurn((last) => last + 1) };
}

async function untilVisible(): Promise<void> {
  while (document.hidden)
    await new Promise((resolve) =>
      document.addEventListener('visibilitychange', resolve, { once: true }),
    );
}
