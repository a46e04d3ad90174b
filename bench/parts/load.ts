/** Targets in turn under load, with many connections and with few, and with slower disks. */
import { join } from 'node:path';
import { fdatasyncTimesMs, percentile } from '../../src/prove/fdatasync.ts';
import { addRatios, keepRows } from '../measurement.ts';
import { type Bench, measureRounds, type PartResult, type Settings } from '../part.ts';
import { build, builtFile, builtVersions } from '../peers/build.ts';
import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import { runOnFreshStore } from '../target.ts';
import { type Target, targets } from '../targets.ts';
import { connectionsText, numberText, spreadText } from '../text.ts';

const fdatasyncMs = 500;

export async function measureLoad(settings: Settings, bench: Bench): Promise<PartResult> {
  const { warmupMs, measureMs, connections, syncDelaysMs } = settings;
  const { rows, add } = keepRows();
  const left: Record<string, string> = {};
  const present = settings.targets
    .map((name) => targets[name])
    .filter(({ label, peer }) => {
      const missing = peer && build(peer);
      if (missing) left[label] = `not measured: there is no ${missing} here`;
      return !missing;
    });
  const isDelayed = syncDelaysMs.some((ms) => ms > 0);
  const canDelay = isDelayed && process.platform === 'linux' && build('sync-delay') === undefined;
  if (isDelayed && !canDelay) left['delayed syncs'] = 'not measured: they need Linux and cc';
  const syncsMs: number[] = [];
  let counted = 0;

  await measureRounds(settings, bench, async () => {
    const timesMs = fdatasyncTimesMs(join(bench.directory, 'fdatasync'), fdatasyncMs);
    syncsMs.push(percentile(timesMs, 0.5));
    for (const delayMs of syncDelaysMs)
      for (const target of present)
        if (delayMs === 0 || (canDelay && !target.hidesSyncs)) await measureTarget(target, delayMs);
  });

  /**
   * Starts the target on an empty store. Compilation and allocation differ between two starts, and
   * the spread over the rounds shows the difference. Many connections come first, as a warm-up.
   */
  function measureTarget(target: Target, delayMs: number): Promise<void> {
    const { directory, progress } = bench;
    const env = { LD_PRELOAD: builtFile('sync-delay'), SYNC_DELAY_US: `${delayMs * 1000}` };
    const options = { directory, ids: 'short', ...(delayMs > 0 && { env }) } as const;
    return runOnFreshStore(target, options, async (running, store) => {
      for (const count of connections.toSorted((a, b) => b - a)) {
        const result = await running.load({ connections: count, warmupMs, measureMs });
        if (target.isDurable && result.p50Ms < delayMs)
          throw new Error(`${target.label}: answered before a sync that takes ${delayMs} ms`);
        const place = { panel: delayText(delayMs), x: connectionsText(count), line: target.label };
        const rate = `${Math.round(result.createsPerSecond)} creates/s`;
        progress(`  ${place.line}, ${place.x}, ${place.panel}: ${rate}`);
        add(place, { ...result });
      }
      if (target.countStored) counted += store.plants;
    });
  }

  const panels = syncDelaysMs.map(delayText);
  const places = connections.toSorted((a, b) => a - b).map(connectionsText);
  rows.sort(
    (a, b) =>
      panels.indexOf(a.panel ?? '') - panels.indexOf(b.panel ?? '') ||
      places.indexOf(a.x) - places.indexOf(b.x),
  );
  addRatios(rows, 'ratioToService', targets.service.label);
  return {
    conditions: {
      load: `closed loop, NewPlant of ${newPlantBytes} bytes, ids unique and ascending`,
      disk: `fdatasync p50 ${spreadText(spread(syncsMs), 3)} ms`,
      ...Object.fromEntries(present.map((target) => [target.label, describe(target)])),
      ...left,
      counted: `all ${numberText(counted)} acknowledged creates are in the stores`,
    },
    columns: [
      'createsPerSecond',
      'ratioToService',
      'cpuUsPerCreate',
      'p50Ms',
      'p99Ms',
      'rssPeakBytes',
      'generatorBusyShare',
    ],
    rows,
    plot: { title: 'Creates per second', isLogarithmic: true },
  };
}

export function delayText(delayMs: number): string {
  return delayMs === 0 ? 'the disk as it is' : `${delayMs} ms added to each sync`;
}

function describe({ durability, peer, hidesSyncs }: Target): string {
  const versions = peer ? ` (${builtVersions(peer)})` : '';
  const hidden = hidesSyncs ? '; its syncs bypass the C library and cannot be delayed' : '';
  return durability + hidden + versions;
}
