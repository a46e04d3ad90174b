import { monitorEventLoopDelay } from 'node:perf_hooks';
import { limits } from '../limits.ts';

/** Interval of the measurement. A shorter lag is not measured in full. */
const resolutionMs = 20;

/** Reports the longest lag of this thread's event loop every `limits.ops.samplesEveryMs`. */
export function watchEventLoop(report: (lagSeconds: number) => void): Disposable {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const reporting = setInterval(() => {
    // `delay` includes the interval itself.
    report(Math.max(0, delay.max / 1e9 - resolutionMs / 1e3));
    delay.reset();
  }, limits.ops.samplesEveryMs);
  return {
    [Symbol.dispose]() {
      clearInterval(reporting);
      delay.disable();
    },
  };
}
