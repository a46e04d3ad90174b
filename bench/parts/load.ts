/** Targets in turn under load, with many connections and with few. */
import { join } from 'node:path';
import { fdatasyncTimesMs } from '../../src/prove/fdatasync.ts';
import { percentile } from '../../src/prove/percentile.ts';
import { addRatios, keepRows } from '../measurement.ts';
import { type Bench, measureRounds, type PartResult, type Settings } from '../part.ts';
import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import { runOnFreshStore } from '../target.ts';
import { type Target, targets } from '../targets.ts';
import { connectionsText, numberText, spreadText } from '../text.ts';

const fdatasyncMs = 500;

export async function measureLoad(settings: Settings, bench: Bench): Promise<PartResult> {
  const { warmupMs, measureMs, connections } = settings;
  const { rows, add } = keepRows();
  const present = settings.targets.map((name) => targets[name]);
  const syncsMs: number[] = [];
  let counted = 0;

  await measureRounds(settings, bench, async () => {
    const timesMs = fdatasyncTimesMs(join(bench.directory, 'fdatasync'), fdatasyncMs);
    syncsMs.push(percentile(timesMs, 0.5));
    for (const target of present) await measureTarget(target);
  });

  /**
   * Starts the target on an empty store. Compilation and allocation differ between two starts, and
   * the spread over the rounds shows the difference. Many connections come first, as a warm-up.
   */
  function measureTarget(target: Target): Promise<void> {
    const { directory, progress } = bench;
    return runOnFreshStore(target, { directory, ids: 'short' }, async (running, store) => {
      for (const count of connections.toSorted((a, b) => b - a)) {
        const result = await running.load({ connections: count, warmupMs, measureMs });
        const place = { x: connectionsText(count), line: target.label };
        const rate = `${Math.round(result.createsPerSecond)} creates/s`;
        progress(`  ${place.line}, ${place.x}: ${rate}`);
        add(place, { ...result });
      }
      if (target.countStored) counted += store.plants;
    });
  }

  const places = connections.toSorted((a, b) => a - b).map(connectionsText);
  rows.sort((a, b) => places.indexOf(a.x) - places.indexOf(b.x));
  addRatios(rows, 'ratioToService', targets.service.label);
  return {
    conditions: {
      load: `closed loop, NewPlant of ${newPlantBytes} bytes, ids unique and ascending`,
      disk: `fdatasync p50 ${spreadText(spread(syncsMs), 3)} ms`,
      ...Object.fromEntries(present.map(({ label, durability }) => [label, durability])),
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
    plot: { title: 'Creates per second', measures: ['createsPerSecond'], scale: 'logarithmic' },
  };
}
