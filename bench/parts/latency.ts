/** Latency of creates that arrive at a constant rate, at some shares of the target's capacity. */
import type { LoadResult } from '../generator/order.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { percentText, type Row, renderFacts, renderSpreads } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { type TargetName, targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, roundsText } from '../text.ts';

interface LatencySettings extends Timing {
  capacityShares: number[];
  targets: TargetName[];
}

interface OpenLoad extends LoadResult {
  arrivalsPerSecond: number;
}

interface TargetRun {
  target: TargetName;
  /** The rate of a closed loop just before. */
  capacityPerSecond: number;
  /** One for each share. */
  loads: OpenLoad[];
}

export interface LatencyPart {
  settings: LatencySettings;
  runs: TargetRun[];
}

export async function measureLatency(
  settings: LatencySettings,
  bench: Bench,
): Promise<LatencyPart> {
  const rounds = await measureRounds(settings.rounds, bench, () =>
    Array.fromAsync(settings.targets, (target) => measureTarget(target, settings, bench)),
  );
  return { settings, runs: rounds.flat() };
}

function measureTarget(
  target: TargetName,
  { warmupMs, measureMs, capacityShares }: LatencySettings,
  { directory, progress }: Bench,
): Promise<TargetRun> {
  const load = { connections: fullLoadConnections, warmupMs, measureMs };
  return runOnFreshStore(targets[target], { directory }, async (running) => {
    const { createsPerSecond: capacityPerSecond } = await running.load(load);
    const loads = await Array.fromAsync(capacityShares, async (share): Promise<OpenLoad> => {
      const arrivalsPerSecond = capacityPerSecond * share;
      const result = await running.load({ ...load, arrivalsPerSecond });
      progress(
        `  ${targets[target].label}, ${Math.round(arrivalsPerSecond)} arrivals/s: p99 ${result.p99Ms.toFixed(2)} ms`,
      );
      return { arrivalsPerSecond, ...result };
    });
    return { target, capacityPerSecond, loads };
  });
}

/** The loads at one share of a target's capacity, over the rounds. */
export interface LatencyRow {
  target: TargetName;
  capacityShare: number;
  loads: OpenLoad[];
}

export function latencyRows({ settings, runs }: LatencyPart): LatencyRow[] {
  return settings.targets.flatMap((target) => {
    const own = runs.filter((run) => run.target === target);
    return settings.capacityShares.map((capacityShare, index) => ({
      target,
      capacityShare,
      loads: own.flatMap(({ loads }) => loads[index] ?? []),
    }));
  });
}

export function renderLatencyTables(part: LatencyPart): string[] {
  const conditions = renderFacts({
    load: `open loop, ${connectionsText(fullLoadConnections)}, constant rate; latency from the moment when a create was due`,
    rounds: roundsText(part.settings),
  });
  const rows = latencyRows(part).map(
    ({ target, capacityShare, loads }): Row<OpenLoad> => [
      `${targets[target].label}, ${percentText(capacityShare)} of capacity`,
      loads,
    ],
  );
  const latencies = renderSpreads('arrivals', rows, [
    ['a second', 0, (load) => load.arrivalsPerSecond],
    ['answers', 0, (load) => load.createsPerSecond],
    ['p50 ms', 2, (load) => load.p50Ms],
    ['p99 ms', 2, (load) => load.p99Ms],
    ['p99.9 ms', 2, (load) => load.p999Ms],
    ['max ms', 2, (load) => load.maxMs],
  ]);
  // The lateness of the generator is a part of the latencies above.
  const generator = renderSpreads('load generator late by', rows, [
    ['p50 ms', 2, (load) => load.lateness?.p50Ms],
    ['p99 ms', 2, (load) => load.lateness?.p99Ms],
    ['max ms', 2, (load) => load.lateness?.maxMs],
    ['% of a core used', 0, (load) => load.generatorCpuShare * 100],
  ]);
  return [conditions, latencies, generator];
}
