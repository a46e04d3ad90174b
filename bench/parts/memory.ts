/** Resident memory of the service under full load. */
import { keepRows } from '../measurement.ts';
import { type Bench, fullLoad, type PartResult, type Settings } from '../part.ts';
import { rssBytes } from '../process-stats.ts';
import { slope, spread } from '../statistics.ts';
import { runOnFreshStore } from '../target.ts';
import { targets } from '../targets.ts';

const sampleMsMax = 1_000;
const spans = 10;

export async function measureMemory(
  { warmupMs, memoryMs: measureMs }: Settings,
  { directory, progress }: Bench,
): Promise<PartResult> {
  const line = targets.service.label;
  const { rows, add } = keepRows();
  const spanMs = measureMs / spans;
  await runOnFreshStore(targets.service, { directory, ids: 'short' }, async (running) => {
    const samples: { ms: number; bytes: number }[] = [];
    const startMs = performance.now() + warmupMs;
    const timer = setInterval(
      () => {
        const bytes = rssBytes(running.pid);
        if (bytes !== null) samples.push({ ms: performance.now() - startMs, bytes });
      },
      Math.min(sampleMsMax, spanMs / 2),
    );
    const load = { connections: fullLoad.connections, warmupMs, measureMs };
    const { rssPeakBytes, createsPerSecond } = await running.load(load);
    clearInterval(timer);
    progress(`  peak ${rssPeakBytes} bytes at ${Math.round(createsPerSecond)} creates/s`);
    // Without the first tenth, in which the heap grows to its working size.
    const settled = samples.filter(({ ms }) => ms >= spanMs);
    const points = settled.map(({ ms, bytes }) => ({ x: ms / 60_000, y: bytes }));
    const rssSlopeBytesPerMinute = slope(points);
    for (let span = 0; span < spans; span++) {
      const own = samples.filter(({ ms }) => Math.floor(ms / spanMs) === span);
      const median = spread(own.map(({ bytes }) => bytes))?.median ?? null;
      const isLast = span === spans - 1;
      const whole = isLast && { rssPeakBytes, rssSlopeBytesPerMinute, createsPerSecond };
      add({ x: `${((span + 1) * spanMs) / 1000} s`, line }, { rssBytes: median, ...whole });
    }
  });
  return {
    conditions: {
      load: `closed loop, ${fullLoad.text}`,
      rounds: `one of ${measureMs / 1000} s after ${warmupMs / 1000} s of warm-up`,
      rows: 'the median of each tenth of the time; the last has the peak and the rate of the whole, and the slope without the first tenth',
    },
    columns: ['rssBytes', 'rssPeakBytes', 'rssSlopeBytesPerMinute', 'createsPerSecond'],
    rows,
    plot: { title: 'Memory under full load' },
  };
}
