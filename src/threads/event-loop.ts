import { monitorEventLoopDelay } from 'node:perf_hooks';
import { limits } from '../limits.ts';

/** How often it looks: what is late by less than that is not seen in full. */
const resolutionMs = 20;

/**
 * Tells every `limits.ops.samplesEveryMs` how late the event loop of the calling thread was at most
 * since the last time, in seconds.
 */
export function watchEventLoop(tell: (lagSeconds: number) => void): Disposable {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const telling = setInterval(() => {
    // What it measures is the time from one look to the next.
    tell(Math.max(0, delay.max / 1e9 - resolutionMs / 1e3));
    delay.reset();
  }, limits.ops.samplesEveryMs);
  return {
    [Symbol.dispose]() {
      clearInterval(telling);
      delay.disable();
    },
  };
}
