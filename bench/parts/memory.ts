/** Resident memory of the service under full load, second by second. */
import type { Bench, Timing } from '../part.ts';
import { rssBytes } from '../process-stats.ts';
import { slope } from '../statistics.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText, timesText } from '../text.ts';

interface Sample {
  /** Since the start of the load. */
  atMs: number;
  rssBytes: number;
}

interface MemoryPart {
  settings: Omit<Timing, 'rounds'>;
  createsPerSecond: number;
  /** Null without Linux. */
  rssPeakBytes: number | null;
  samples: Sample[];
}

const sampleMs = 1_000;

export function measureMemory(
  settings: MemoryPart['settings'],
  { directory, progress }: Bench,
): Promise<MemoryPart> {
  return runOnFreshStore(targets.service, { directory }, async (running) => {
    const samples: Sample[] = [];
    const startMs = performance.now();
    const timer = setInterval(() => {
      const bytes = rssBytes(running.pid);
      if (bytes !== null) samples.push({ atMs: performance.now() - startMs, rssBytes: bytes });
    }, sampleMs);
    const load = { connections: fullLoadConnections, ...settings };
    const { createsPerSecond, rssPeakBytes } = await running.load(load);
    clearInterval(timer);
    progress(
      `  peak ${numberText((rssPeakBytes ?? Number.NaN) / 1e6, 0)} MB at ${Math.round(createsPerSecond)} creates/s`,
    );
    return { settings, createsPerSecond, rssPeakBytes, samples };
  });
}

/** Without the warm-up, in which the heap grows to its working size. */
export function rssSlopeMbPerMinute({ settings, samples }: MemoryPart): number | null {
  const measured = samples.filter(({ atMs }) => atMs >= settings.warmupMs);
  return slope(measured.map(({ atMs, rssBytes }) => ({ x: atMs / 60_000, y: rssBytes / 1e6 })));
}

export function renderMemoryTables(part: MemoryPart): string[] {
  const load = `closed loop, ${connectionsText(fullLoadConnections)}, ${timesText(part.settings)}`;
  const table = renderSpreads(
    'memory',
    [[targets.service.label, [part]]],
    [
      ['peak RSS MB', 1, ({ rssPeakBytes }) => rssPeakBytes, 1e6],
      ['slope MB/min', 2, rssSlopeMbPerMinute],
      ['creates/s', 0, ({ createsPerSecond }) => createsPerSecond],
    ],
  );
  return [renderFacts({ load }), table];
}
