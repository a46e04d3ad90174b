/**
 * How long a create takes at a constant rate of arrivals, at some shares of what the target can
 * take.
 */
import type { LoadResult } from '../generator/order.ts';
import type { Bench } from '../part.ts';
import { type Spread, spread } from '../statistics.ts';
import { percentText, renderFacts, renderTable, spreadText } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { type TargetName, targets } from '../targets.ts';
import { connectionsText, durationText, fullLoadConnections } from '../text.ts';

export interface LatencySettings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
  capacityShares: number[];
  targets: TargetName[];
}

interface OpenLoad extends LoadResult {
  arrivalsPerSecond: number;
}

interface TargetRun {
  target: TargetName;
  /** Measured by a closed loop just before. */
  capacityPerSecond: number;
  /** One for each of the shares. */
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
  const runs: TargetRun[] = [];
  for (let round = 1; round <= settings.rounds; round++) {
    bench.progress(`round ${round} of ${settings.rounds}`);
    for (const target of settings.targets) runs.push(await measureTarget(target, settings, bench));
  }
  return { settings, runs };
}

function measureTarget(
  target: TargetName,
  settings: LatencySettings,
  { directory, progress }: Bench,
): Promise<TargetRun> {
  const { warmupMs, measureMs, capacityShares } = settings;
  const load = { connections: fullLoadConnections, warmupMs, measureMs };
  return runOnFreshStore(targets[target], { directory }, async (running) => {
    const { createsPerSecond: capacityPerSecond } = await running.load(load);
    const loads: OpenLoad[] = [];
    for (const share of capacityShares) {
      const arrivalsPerSecond = capacityPerSecond * share;
      const result = await running.load({ ...load, arrivalsPerSecond });
      progress(
        `  ${targets[target].label}, ${Math.round(arrivalsPerSecond)} arrivals/s: p99 ${result.p99Ms.toFixed(2)} ms`,
      );
      loads.push({ arrivalsPerSecond, ...result });
    }
    return { target, capacityPerSecond, loads };
  });
}

/** One target under one share of its capacity, over the rounds. */
export interface LatencyRow {
  target: TargetName;
  capacityShare: number;
  of(value: (load: OpenLoad) => number | null | undefined): Spread | null;
}

export function latencyRows({ settings, runs }: LatencyPart): LatencyRow[] {
  return settings.targets.flatMap((target) =>
    settings.capacityShares.map((capacityShare, index) => {
      const loads = runs
        .filter((run) => run.target === target)
        .flatMap((run) => run.loads[index] ?? []);
      return { target, capacityShare, of: (value) => spread(loads.map(value)) };
    }),
  );
}

export function renderLatencyTables(part: LatencyPart): string[] {
  const { rounds, warmupMs, measureMs } = part.settings;
  const rows = latencyRows(part);
  const conditions = renderFacts([
    [
      'load',
      `open loop, ${connectionsText(fullLoadConnections)}, constant rate; latency from the moment when a create was due`,
    ],
    [
      'rounds',
      `${rounds} of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`,
    ],
  ]);
  return [conditions, renderLatencies(rows), renderGenerator(rows)];
}

type Column = [
  label: string,
  decimals: number,
  value: (load: OpenLoad) => number | null | undefined,
];

function renderLatencies(rows: LatencyRow[]): string {
  return renderRows('arrivals', rows, [
    ['a second', 0, (load) => load.arrivalsPerSecond],
    ['answers', 0, (load) => load.createsPerSecond],
    ['p50 ms', 2, (load) => load.p50Ms],
    ['p99 ms', 2, (load) => load.p99Ms],
    ['p99.9 ms', 2, (load) => load.p999Ms],
    ['max ms', 2, (load) => load.maxMs],
  ]);
}

/** What it was late by is a part of every latency above. */
function renderGenerator(rows: LatencyRow[]): string {
  return renderRows('load generator late by', rows, [
    ['p50 ms', 2, (load) => load.lateness?.p50Ms],
    ['p99 ms', 2, (load) => load.lateness?.p99Ms],
    ['max ms', 2, (load) => load.lateness?.maxMs],
    ['% of a core used', 0, (load) => load.generatorCpuShare * 100],
  ]);
}

function renderRows(title: string, rows: LatencyRow[], columns: Column[]): string {
  const body = rows.map(({ target, capacityShare, of }) => [
    `${targets[target].label}, ${percentText(capacityShare)} of capacity`,
    ...columns.map(([, decimals, value]) => spreadText(of(value), decimals)),
  ]);
  return renderTable([[title, ...columns.map(([label]) => label)], ...body]);
}
