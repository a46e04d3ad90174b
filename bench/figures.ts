/** The figures that the service is held to, each answered by the part that measures it. */
import type { IdKind } from './ids.ts';
import { growthRows } from './parts/growth.ts';
import type { Measurement, Round } from './parts/load.ts';
import { rssSlopeMbPerMinute } from './parts/memory.ts';
import { nodeCoreShare, ratioOf } from './parts/postgres.ts';
import { exportRate, importRate } from './parts/transfer.ts';
import { quickestFeeding } from './parts/writer.ts';
import type { PartResults } from './parts.ts';
import { type Spread, spread } from './statistics.ts';
import type { TargetName } from './targets.ts';
import { durationText, fullLoadConnections, plantsText } from './text.ts';

type Results = Partial<PartResults>;

interface Answer {
  /** Null when the run has not measured it. */
  value: Spread | null;
  /**
   * The size or the time with which it was measured, and the one that the figure is about if that
   * is more.
   */
  at?: string;
  shortOf?: string | undefined;
}

interface Figure {
  label: string;
  bound: { atLeast: number } | { atMost: number };
  of(results: Results): Answer;
}

export interface FigureResult extends Answer {
  label: string;
  bound: Figure['bound'];
  /** Of the median; null when the run has not measured it. */
  met: boolean | null;
}

const figures: Figure[] = [
  {
    label: 'creates/s ÷ no-op handler, 256 connections',
    bound: { atLeast: 1 },
    of: inRounds((round) =>
      ratio(at(round, 'service')?.createsPerSecond, at(round, 'noop')?.createsPerSecond),
    ),
  },
  {
    label: 'CPU per create ÷ no-op handler, 256 connections',
    bound: { atMost: 1.15 },
    of: inRounds((round) =>
      ratio(at(round, 'service')?.cpuUsPerCreate, at(round, 'noop')?.cpuUsPerCreate),
    ),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 FULL, 256 connections',
    bound: { atLeast: 12 },
    of: inRounds((round) =>
      ratio(at(round, 'service')?.createsPerSecond, at(round, 'full')?.createsPerSecond),
    ),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 NORMAL, 256 connections',
    bound: { atLeast: 1.8 },
    of: inRounds((round) =>
      ratio(at(round, 'service')?.createsPerSecond, at(round, 'normal')?.createsPerSecond),
    ),
  },
  {
    label: 'p50 ÷ (no-op p50 + fdatasync p50), 1 connection',
    bound: { atMost: 1.25 },
    of: inRounds((round) => {
      const noopMs = at(round, 'noop', 1)?.p50Ms;
      return noopMs === undefined
        ? null
        : ratio(at(round, 'service', 1)?.p50Ms, noopMs + round.fdatasyncP50Ms);
    }),
  },
  {
    label: 'p99 ÷ p50, 256 connections',
    bound: { atMost: 3 },
    of: inRounds((round) => ratio(at(round, 'service')?.p99Ms, at(round, 'service')?.p50Ms)),
  },
  {
    label: 'creates/s ÷ empty store, ascending ids',
    bound: { atLeast: 0.95 },
    of: grown('ascending'),
  },
  { label: 'creates/s ÷ empty store, random ids', bound: { atLeast: 0.5 }, of: grown('random') },
  {
    label: 'plants/s without HTTP, ascending ids',
    bound: { atLeast: 400_000 },
    of: ({ writer }) => ({ value: writer ? quickestFeeding(writer, 'ascending') : null }),
  },
  {
    label: 'plants/s by import of NDJSON',
    bound: { atLeast: 250_000 },
    of: ({ transfer }) => ({
      value: transfer ? importRate(transfer) : null,
      ...sized(transfer?.settings.plants, transferPlants, plantsText),
    }),
  },
  {
    label: 'plants/s by export',
    bound: { atLeast: 500_000 },
    of: ({ transfer }) => ({
      value: transfer ? exportRate(transfer) : null,
      ...sized(transfer?.settings.plants, transferPlants, plantsText),
    }),
  },
  {
    label: 'start to ready in s, no store yet',
    bound: { atMost: 0.3 },
    of: ({ start }) => ({
      value: spread((start?.starts ?? []).map(({ emptyMs }) => emptyMs / 1000)),
    }),
  },
  {
    label: 'start to ready in s',
    bound: { atMost: 0.5 },
    of: ({ start }) => ({
      value: spread((start?.starts ?? []).map(({ filledMs }) => filledMs / 1000)),
      ...sized(start?.settings.plants, startPlants, plantsText),
    }),
  },
  {
    label: 'peak RSS in MB, 256 connections',
    bound: { atMost: 160 },
    of: ({ memory }) => ({
      value: spread([ratio(memory?.rssPeakBytes, 1e6)]),
      ...sized(memory?.settings.measureMs, memoryMs, durationText),
    }),
  },
  {
    label: 'growth of RSS in MB/min, 256 connections',
    bound: { atMost: 1 },
    of: ({ memory }) => ({
      value: spread([memory && rssSlopeMbPerMinute(memory)]),
      ...sized(memory?.settings.measureMs, memoryMs, durationText),
    }),
  },
  {
    label: 'creates/s on PostgreSQL ÷ Fastify + pg, 256 connections',
    bound: { atLeast: 5 },
    of: ({ postgres }) => ({
      value: postgres ? ratioOf(postgres, 'shared', 'postgres', 'fastify') : null,
    }),
  },
  {
    label: 'creates/s on PostgreSQL ÷ on SQLite, 256 connections, a core for the database alone',
    bound: { atLeast: 0.7 },
    of: ({ postgres }) => ({
      value: postgres ? ratioOf(postgres, 'own', 'postgres', 'service') : null,
    }),
  },
  {
    label: 'creates/s of 2 nodes on one PostgreSQL ÷ 1 node, 256 connections',
    bound: { atLeast: 1 },
    of: ({ postgres }) => ({
      value: postgres ? ratioOf(postgres, 'shared', 'nodes', 'postgres') : null,
    }),
  },
  {
    label: `the same, ${nodeCoreShare} of a core for each node`,
    bound: { atLeast: 1 },
    of: ({ postgres }) => ({
      value: postgres ? ratioOf(postgres, 'limited', 'nodes', 'postgres') : null,
    }),
  },
];

/** What the figures are about, where a run may measure less. */
const grownPlants = 20_000_000;
const transferPlants = 1_000_000;
const startPlants = 10_000_000;
const memoryMs = 600_000;

export function answerFigures(results: Results): FigureResult[] {
  return figures.map(({ label, bound, of }) => {
    const answer = of(results);
    return { label, bound, ...answer, met: answer.value && isWithin(answer.value.median, bound) };
  });
}

function isWithin(value: number, bound: Figure['bound']): boolean {
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
}

function sized(
  measured: number | undefined,
  meant: number,
  text: (size: number) => string,
): Pick<Answer, 'at' | 'shortOf'> {
  return {
    at: text(measured ?? meant),
    shortOf: measured !== undefined && measured < meant ? text(meant) : undefined,
  };
}

/** With the largest store that was measured. */
function grown(ids: IdKind): Figure['of'] {
  return ({ growth }) => {
    const largest = growth && growthRows(growth).findLast((row) => row.ids === ids);
    return {
      value: largest?.ratioToEmpty ?? null,
      ...sized(largest?.plants, grownPlants, plantsText),
    };
  };
}

/** A ratio within each round of `load`. */
function inRounds(of: (round: Round) => number | null): Figure['of'] {
  return ({ load }) => ({ value: spread((load?.rounds ?? []).map(of)) });
}

function at(
  round: Round,
  target: TargetName,
  connections = fullLoadConnections,
): Measurement | undefined {
  return round.targets[target]?.measurements.find(
    (measurement) => measurement.connections === connections,
  );
}

function ratio(value: number | null | undefined, base: number | null | undefined): number | null {
  return typeof value === 'number' && typeof base === 'number' ? value / base : null;
}
