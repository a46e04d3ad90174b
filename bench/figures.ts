/** The figures that DESIGN.md holds the service to and that this run can answer, each as a ratio within a round. */
import type { Measurement, Round } from './rounds.ts';
import { type Spread, spread } from './statistics.ts';
import type { TargetName } from './targets.ts';

interface Figure {
  label: string;
  bound: { atLeast: number } | { atMost: number };
  of(round: Round): number | null;
}

export interface FigureResult {
  label: string;
  bound: Figure['bound'];
  /** Over the rounds; null when the run measured no such thing. */
  value: Spread | null;
  /** Of the median. */
  met: boolean | null;
}

const fullLoad = 256;

const figures: Figure[] = [
  {
    label: 'creates/s ÷ no-op handler, 256 connections',
    bound: { atLeast: 1 },
    of: (round) => ratio(at(round, 'service')?.createsPerSecond, at(round, 'noop')?.createsPerSecond),
  },
  {
    label: 'CPU per create ÷ no-op handler, 256 connections',
    bound: { atMost: 1.15 },
    of: (round) => ratio(at(round, 'service')?.cpuUsPerCreate, at(round, 'noop')?.cpuUsPerCreate),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 FULL, 256 connections',
    bound: { atLeast: 12 },
    of: (round) => ratio(at(round, 'service')?.createsPerSecond, at(round, 'full')?.createsPerSecond),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 NORMAL, 256 connections',
    bound: { atLeast: 1.8 },
    of: (round) => ratio(at(round, 'service')?.createsPerSecond, at(round, 'normal')?.createsPerSecond),
  },
  {
    label: 'p50 ÷ (no-op p50 + fdatasync p50), 1 connection',
    bound: { atMost: 1.25 },
    of: (round) => {
      const noopMs = at(round, 'noop', 1)?.p50Ms;
      return noopMs === undefined ? null : ratio(at(round, 'service', 1)?.p50Ms, noopMs + round.fdatasyncP50Ms);
    },
  },
  {
    label: 'p99 ÷ p50, 256 connections',
    bound: { atMost: 3 },
    of: (round) => ratio(at(round, 'service')?.p99Ms, at(round, 'service')?.p50Ms),
  },
  {
    label: 'peak RSS in MB, 256 connections',
    bound: { atMost: 160 },
    of: (round) => ratio(at(round, 'service')?.rssPeakBytes, 1e6),
  },
];

export function answerFigures(rounds: Round[]): FigureResult[] {
  return figures.map(({ label, bound, of }) => {
    const value = spread(rounds.map(of));
    return { label, bound, value, met: value && isWithin(value.median, bound) };
  });
}

function isWithin(value: number, bound: Figure['bound']): boolean {
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
}

function at(round: Round, target: TargetName, connections = fullLoad): Measurement | undefined {
  return round.targets[target]?.measurements.find((measurement) => measurement.connections === connections);
}

function ratio(value: number | null | undefined, base: number | null | undefined): number | null {
  return typeof value === 'number' && typeof base === 'number' ? value / base : null;
}
