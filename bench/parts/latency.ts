/** Latency of creates that arrive at a constant rate, at some shares of the target's capacity. */
import { keepRows } from '../measurement.ts';
import { type Bench, fullLoad, measureRounds, type PartResult, type Settings } from '../part.ts';
import { runOnFreshStore } from '../target.ts';
import { type TargetName, targets } from '../targets.ts';

const capacityShares = [0.25, 0.5, 0.75];

export async function measureLatency(settings: Settings, bench: Bench): Promise<PartResult> {
  const { warmupMs, measureMs } = settings;
  const load = { connections: fullLoad.connections, warmupMs, measureMs };
  const { rows, add } = keepRows();

  await measureRounds(settings, bench, async () => {
    for (const name of settings.targets) await measureTarget(name);
  });

  function measureTarget(name: TargetName): Promise<void> {
    const { directory, progress } = bench;
    return runOnFreshStore(targets[name], { directory, ids: 'short' }, async (running) => {
      const { createsPerSecond: capacity } = await running.load(load);
      for (const share of capacityShares) {
        const arrivalsPerSecond = capacity * share;
        const result = await running.load({ ...load, arrivalsPerSecond });
        const place = { x: `${share * 100} % of capacity`, line: targets[name].label };
        progress(`  ${place.line}, ${place.x}: p99 ${result.p99Ms.toFixed(2)} ms`);
        add(place, { ...result, arrivalsPerSecond });
      }
    });
  }

  return {
    conditions: {
      load: `open loop, ${fullLoad.text}, constant rate; latency from the moment when a create was due`,
    },
    columns: [
      'arrivalsPerSecond',
      'createsPerSecond',
      'p50Ms',
      'p99Ms',
      'p999Ms',
      'maxMs',
      'lateP99Ms',
    ],
    rows,
    plot: {
      title: 'Latency against load',
      measures: ['p50Ms', 'p99Ms', 'p999Ms'],
      isLogarithmic: true,
    },
  };
}
