/** The targets one after the other under full load, some and one connection, round after round. */
import { join } from 'node:path';
import { fdatasyncTimesMs } from '../../src/prove/fdatasync.ts';
import { percentile } from '../../src/prove/percentile.ts';
import type { LoadResult } from '../generator/order.ts';
import type { Bench } from '../part.ts';
import { runOnFreshStore } from '../target-run.ts';
import { rawResponder, type Target, type TargetName, targets } from '../targets.ts';
import { connectionsText, fullLoadConnections } from '../text.ts';

export interface LoadSettings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
  /**
   * Descending: the heaviest load comes first, so that the peak RSS read after it is the peak under
   * full load.
   */
  connections: number[];
  targets: TargetName[];
}

export interface Measurement extends LoadResult {
  connections: number;
}

interface TargetRun {
  measurements: Measurement[];
  /** In a store that keeps them, they have been counted after the target has stopped. */
  acknowledged: number;
}

export interface Round {
  fdatasyncP50Ms: number;
  targets: Partial<Record<TargetName, TargetRun>>;
}

export interface LoadPart {
  settings: LoadSettings;
  ceiling: Measurement[];
  rounds: Round[];
}

const fdatasyncMs = 500;

export async function measureLoad(settings: LoadSettings, bench: Bench): Promise<LoadPart> {
  const ceiling = await measureTarget(rawResponder, settings, bench);
  const rounds: Round[] = [];
  for (let number = 1; number <= settings.rounds; number++) {
    bench.progress(`round ${number} of ${settings.rounds}`);
    rounds.push(await measureRound(settings, bench));
  }
  return { settings, ceiling: ceiling.measurements, rounds };
}

async function measureRound(settings: LoadSettings, bench: Bench): Promise<Round> {
  const fdatasyncP50Ms = percentile(
    fdatasyncTimesMs(join(bench.directory, 'fdatasync'), fdatasyncMs),
    0.5,
  );
  const round: Round = { fdatasyncP50Ms, targets: {} };
  for (const name of settings.targets)
    round.targets[name] = await measureTarget(targets[name], settings, bench);
  return round;
}

/**
 * Each round starts each target afresh on an empty store: what a process happens to compile and to
 * allocate differs from start to start, and the spread over the rounds is to show it.
 */
function measureTarget(
  target: Target,
  settings: LoadSettings,
  { directory, progress }: Bench,
): Promise<TargetRun> {
  const { warmupMs, measureMs } = settings;
  return runOnFreshStore(target, { directory }, async (running, store) => {
    const measurements: Measurement[] = [];
    for (const connections of settings.connections) {
      if (target.isForScaling && connections !== fullLoadConnections) continue;
      const result = await running.load({ connections, warmupMs, measureMs });
      progress(
        `  ${target.label}, ${connectionsText(connections)}: ${Math.round(result.createsPerSecond)} creates/s`,
      );
      measurements.push({ connections, ...result });
    }
    return { measurements, acknowledged: store.plants };
  });
}
