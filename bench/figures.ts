/** The figures that have targets, and the parts that measure them. */
import type { IdKind } from './ids.ts';
import { growthRows, ratioToEmpty } from './parts/growth.ts';
import type { Measurement, Round } from './parts/load.ts';
import { rssSlopeMbPerMinute } from './parts/memory.ts';
import { nodeCoreShare, rateRatios } from './parts/postgres.ts';
import { transferRates } from './parts/transfer.ts';
import type { PartResults } from './parts.ts';
import { ratio, type Spread, spread } from './statistics.ts';
import type { TargetName } from './targets.ts';
import { durationText, fullLoadConnections, plantsText } from './text.ts';

type Results = Partial<PartResults>;

interface Figure {
  label: string;
  bound: { atLeast: number } | { atMost: number };
  /** Missing when its part did not run. */
  of(results: Results): Spread | null | undefined;
  size?: Size;
}

/** The store's size, or the time, that a figure is about. A run may measure less. */
interface Size {
  meant: number;
  of(results: Results): number | undefined;
  text(size: number): string;
}

export interface FigureResult {
  label: string;
  bound: Figure['bound'];
  /** Null when its part did not run. */
  value: Spread | null;
  /** The size that was measured. */
  at?: string;
  /** The size that the figure is about, if the run measured less. */
  shortOf?: string | undefined;
  /** Whether the median is within the bound. Null without a value. */
  met: boolean | null;
}

const transferred: Size = {
  meant: 1_000_000,
  of: ({ transfer }) => transfer?.settings.plants,
  text: plantsText,
};
const underLoad: Size = {
  meant: 600_000,
  of: ({ memory }) => memory?.settings.measureMs,
  text: durationText,
};

const figures: Figure[] = [
  {
    label: 'creates/s ÷ no-op handler, 256 connections',
    bound: { atLeast: 1 },
    of: inRounds((round) => versus(round, 'noop', 'createsPerSecond')),
  },
  {
    label: 'CPU per create ÷ no-op handler, 256 connections',
    bound: { atMost: 1.15 },
    of: inRounds((round) => versus(round, 'noop', 'cpuUsPerCreate')),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 FULL, 256 connections',
    bound: { atLeast: 12 },
    of: inRounds((round) => versus(round, 'full', 'createsPerSecond')),
  },
  {
    label: 'creates/s ÷ Fastify + better-sqlite3 NORMAL, 256 connections',
    bound: { atLeast: 1.8 },
    of: inRounds((round) => versus(round, 'normal', 'createsPerSecond')),
  },
  {
    label: 'creates/s with TLS ÷ without, 256 connections',
    bound: { atLeast: 0.7 },
    of: inRounds((round) =>
      ratio(at(round, 'tls')?.createsPerSecond, at(round, 'service')?.createsPerSecond),
    ),
  },
  {
    label: 'CPU per create with 1,000 JWTs ÷ with 1,000 opaque tokens, 256 connections',
    bound: { atMost: 1.1 },
    of: inRounds((round) =>
      ratio(at(round, 'jwt')?.cpuUsPerCreate, at(round, 'tokens')?.cpuUsPerCreate),
    ),
  },
  {
    label: 'p99 beside backups ÷ alone, half of the capacity',
    bound: { atMost: 2 },
    of: ({ backup }) =>
      backup &&
      spread(
        backup.rounds.map(({ alone, besideBackup }) => ratio(besideBackup.p99Ms, alone.p99Ms)),
      ),
  },
  {
    label: 'p50 ÷ (no-op p50 + fdatasync p50), 1 connection',
    bound: { atMost: 1.25 },
    of: inRounds((round) => {
      const noopMs = at(round, 'noop', 1)?.p50Ms;
      const leastMs = noopMs === undefined ? null : noopMs + round.fdatasyncP50Ms;
      return ratio(at(round, 'service', 1)?.p50Ms, leastMs);
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
    ...grown('ascending'),
  },
  { label: 'creates/s ÷ empty store, random ids', bound: { atLeast: 0.5 }, ...grown('random') },
  {
    label: 'plants/s by import of NDJSON',
    bound: { atLeast: 250_000 },
    of: ({ transfer }) => transfer && spread(transferRates(transfer, 'importMs')),
    size: transferred,
  },
  {
    label: 'plants/s by export',
    bound: { atLeast: 500_000 },
    of: ({ transfer }) => transfer && spread(transferRates(transfer, 'exportMs')),
    size: transferred,
  },
  {
    label: 'start to ready in s, no store yet',
    bound: { atMost: 0.3 },
    of: ({ start }) => start && spread(start.starts.map(({ emptyMs }) => emptyMs / 1000)),
  },
  {
    label: 'start to ready in s',
    bound: { atMost: 0.5 },
    of: ({ start }) => start && spread(start.starts.map(({ filledMs }) => filledMs / 1000)),
    size: { meant: 10_000_000, of: ({ start }) => start?.settings.plants, text: plantsText },
  },
  {
    label: 'peak RSS in MB, 256 connections',
    bound: { atMost: 160 },
    of: ({ memory }) => spread([ratio(memory?.rssPeakBytes, 1e6)]),
    size: underLoad,
  },
  {
    label: 'growth of RSS in MB/min, 256 connections',
    bound: { atMost: 1 },
    of: ({ memory }) => spread([memory && rssSlopeMbPerMinute(memory)]),
    size: underLoad,
  },
  {
    label: 'creates/s on PostgreSQL ÷ Fastify + pg, 256 connections',
    bound: { atLeast: 5 },
    of: ({ postgres }) => postgres && spread(rateRatios(postgres, 'shared', 'postgres', 'fastify')),
  },
  {
    label: 'creates/s on PostgreSQL ÷ on SQLite, 256 connections, a core for the database alone',
    bound: { atLeast: 0.7 },
    of: ({ postgres }) => postgres && spread(rateRatios(postgres, 'own', 'postgres', 'service')),
  },
  {
    label: 'creates/s of 2 nodes on one PostgreSQL ÷ 1 node, 256 connections',
    bound: { atLeast: 1 },
    of: ({ postgres }) => postgres && spread(rateRatios(postgres, 'shared', 'nodes', 'postgres')),
  },
  {
    label: `creates/s of 2 nodes ÷ 1 node, ${nodeCoreShare} of a core for each node`,
    bound: { atLeast: 1 },
    of: ({ postgres }) => postgres && spread(rateRatios(postgres, 'limited', 'nodes', 'postgres')),
  },
];

export function answerFigures(results: Results): FigureResult[] {
  return figures.map(({ label, bound, of, size }) => {
    const value = of(results) ?? null;
    const met = value && isWithin(value.median, bound);
    return { label, bound, value, ...(size && describeSize(size, results)), met };
  });
}

function isWithin(value: number, bound: Figure['bound']): boolean {
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
}

function describeSize({ meant, of, text }: Size, results: Results) {
  const measured = of(results) ?? meant;
  return { at: text(measured), shortOf: measured < meant ? text(meant) : undefined };
}

/** At the largest size of the run. */
function grown(ids: IdKind): Pick<Figure, 'of' | 'size'> {
  const largest = ({ growth }: Results) =>
    growth && growthRows(growth).findLast((row) => row.ids === ids);
  return {
    of: (results) => spread(largest(results)?.pairs.map(ratioToEmpty) ?? []),
    size: { meant: 20_000_000, of: (results) => largest(results)?.plants, text: plantsText },
  };
}

function inRounds(of: (round: Round) => number | null): Figure['of'] {
  return ({ load }) => load && spread(load.rounds.map(of));
}

/** The service's value divided by the value of another target, under full load. */
function versus(
  round: Round,
  other: TargetName,
  value: 'createsPerSecond' | 'cpuUsPerCreate',
): number | null {
  return ratio(at(round, 'service')?.[value], at(round, other)?.[value]);
}

function at(
  round: Round,
  target: TargetName,
  connections = fullLoadConnections,
): Measurement | undefined {
  return round.targets[target]?.measurements.find((one) => one.connections === connections);
}
