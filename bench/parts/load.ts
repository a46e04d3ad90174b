/** The targets in turn under full load, with many connections and with one. */
import { join } from 'node:path';
import { fdatasyncTimesMs, percentile } from '../../src/prove/fdatasync.ts';
import type { LoadResult } from '../generator/order.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { runOnFreshStore } from '../target-run.ts';
import { rawResponder, type Target, type TargetName, targets } from '../targets.ts';
import { connectionsText, fullLoadConnections } from '../text.ts';

export interface LoadSettings extends Timing {
  /** Descending: the peak RSS after the first load is the peak under full load. */
  connections: number[];
  targets: TargetName[];
}

export interface Measurement extends LoadResult {
  connections: number;
}

interface TargetRun {
  measurements: Measurement[];
  /** If the target stores plants, its store was counted and holds exactly this many. */
  acknowledged: number;
}

export interface Round {
  fdatasyncP50Ms: number;
  targets: Partial<Record<TargetName, TargetRun>>;
}

export interface LoadPart {
  settings: LoadSettings;
  /** The generator against the raw responder. */
  ceiling: Measurement[];
  rounds: Round[];
}

const fdatasyncMs = 500;

export async function measureLoad(settings: LoadSettings, bench: Bench): Promise<LoadPart> {
  const { measurements: ceiling } = await measureTarget(rawResponder, settings, bench);
  const rounds = await measureRounds(settings.rounds, bench, () => measureRound(settings, bench));
  return { settings, ceiling, rounds };
}

async function measureRound(settings: LoadSettings, bench: Bench): Promise<Round> {
  const syncsMs = fdatasyncTimesMs(join(bench.directory, 'fdatasync'), fdatasyncMs);
  const round: Round = { fdatasyncP50Ms: percentile(syncsMs, 0.5), targets: {} };
  for (const name of settings.targets)
    round.targets[name] = await measureTarget(targets[name], settings, bench);
  return round;
}

/**
 * Starts the target on an empty store. Compilation and allocation differ between two starts, and
 * the spread over the rounds shows the difference.
 */
function measureTarget(
  target: Target,
  { warmupMs, measureMs, ...settings }: LoadSettings,
  { directory, progress }: Bench,
): Promise<TargetRun> {
  return runOnFreshStore(target, { directory }, async (running, store) => {
    const measurements: Measurement[] = [];
    for (const connections of settings.connections) {
      if (target.isForScaling && connections !== fullLoadConnections) continue;
      const result = await running.load({
        connections,
        warmupMs: warmupMs * (target.warmups ?? 1),
        measureMs,
      });
      progress(
        `  ${target.label}, ${connectionsText(connections)}: ${Math.round(result.createsPerSecond)} creates/s`,
      );
      measurements.push({ connections, ...result });
    }
    return { measurements, acknowledged: store.plants };
  });
}

/** The measurements of each target with this number of connections, over the rounds. */
export function loadRows(
  { settings, rounds }: LoadPart,
  connections: number,
): [TargetName, Measurement[]][] {
  return settings.targets.flatMap((target): [TargetName, Measurement[]][] => {
    const all = rounds.flatMap((round) => round.targets[target]?.measurements ?? []);
    const own = all.filter((measurement) => measurement.connections === connections);
    return own.length === 0 ? [] : [[target, own]];
  });
}
