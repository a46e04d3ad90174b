/** The memory that the service has resident under full load, second by second. */
import type { Bench } from '../part.ts';
import { rssBytes } from '../process-stats.ts';
import { slope } from '../statistics.ts';
import { renderFacts, renderTable } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';

export interface MemorySettings {
  warmupMs: number;
  measureMs: number;
}

interface Sample {
  /** Since the beginning of the load. */
  atMs: number;
  rssBytes: number;
}

export interface MemoryPart {
  settings: MemorySettings;
  createsPerSecond: number;
  /** Null where the kernel does not say. */
  rssPeakBytes: number | null;
  samples: Sample[];
}

const sampleMs = 1_000;

export function measureMemory(
  settings: MemorySettings,
  { directory, progress }: Bench,
): Promise<MemoryPart> {
  return runOnFreshStore(targets.service, { directory }, async (running) => {
    const sampling = sampleRss(running.pid);
    const { createsPerSecond, rssPeakBytes } = await running.load({
      connections: fullLoadConnections,
      ...settings,
    });
    const samples = sampling.stop();
    progress(
      `  peak ${numberText((rssPeakBytes ?? Number.NaN) / 1e6, 0)} MB at ${Math.round(createsPerSecond)} creates/s`,
    );
    return { settings, createsPerSecond, rssPeakBytes, samples };
  });
}

function sampleRss(pid: number): { stop(): Sample[] } {
  const startMs = performance.now();
  const samples: Sample[] = [];
  const timer = setInterval(() => {
    const bytes = rssBytes(pid);
    if (bytes !== null) samples.push({ atMs: performance.now() - startMs, rssBytes: bytes });
  }, sampleMs);
  return {
    stop() {
      clearInterval(timer);
      return samples;
    },
  };
}

/**
 * By least squares over the measured time, in MB per minute: the heap grows to its working size
 * during the warm-up.
 */
export function rssSlopeMbPerMinute({ settings, samples }: MemoryPart): number | null {
  const measured = samples.filter(({ atMs }) => atMs >= settings.warmupMs);
  return slope(measured.map(({ atMs, rssBytes }) => ({ x: atMs / 60_000, y: rssBytes / 1e6 })));
}

export function renderMemoryTables(part: MemoryPart): string[] {
  const { warmupMs, measureMs } = part.settings;
  const load = `closed loop, ${connectionsText(fullLoadConnections)}, ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up`;
  const slopeMb = rssSlopeMbPerMinute(part);
  const table = renderTable([
    ['memory', 'peak RSS MB', 'slope MB/min', 'creates/s'],
    [
      targets.service.label,
      part.rssPeakBytes === null ? '-' : numberText(part.rssPeakBytes / 1e6, 1),
      slopeMb === null ? '-' : numberText(slopeMb, 2),
      numberText(part.createsPerSecond, 0),
    ],
  ]);
  return [renderFacts([['load', load]]), table];
}
