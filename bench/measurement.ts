/** What the parts measure, and the rows in which they keep it. */
import { ratio, type Spread, spread } from './statistics.ts';

interface MeasureFacts {
  /** Of the column of a table. */
  head: string;
  decimals: number;
  /** Size of the unit that a table shows, such as 1e6 for bytes as MB. Default: 1. */
  unit?: number;
}

const facts = {
  createsPerSecond: { head: 'creates/s', decimals: 0 },
  ratioToService: { head: '÷ plant-store', decimals: 2 },
  ratioToEmpty: { head: '÷ empty beside it', decimals: 2 },
  ratioToFastify: { head: '÷ Fastify', decimals: 2 },
  arrivalsPerSecond: { head: 'arrivals/s', decimals: 0 },
  p50Ms: { head: 'p50 ms', decimals: 2 },
  p99Ms: { head: 'p99 ms', decimals: 2 },
  p999Ms: { head: 'p99.9 ms', decimals: 2 },
  maxMs: { head: 'max ms', decimals: 2 },
  p99ToP50: { head: 'p99 ÷ p50', decimals: 2 },
  lateP99Ms: { head: 'generator late, p99 ms', decimals: 2 },
  cpuUsPerCreate: { head: 'CPU µs/create', decimals: 1 },
  databaseCpuUsPerCreate: { head: 'of the database', decimals: 1 },
  plantsPerCommit: { head: 'plants a commit', decimals: 1 },
  plantsPerSecond: { head: 'plants/s', decimals: 0 },
  rssBytes: { head: 'RSS MB', decimals: 1, unit: 1e6 },
  rssPeakBytes: { head: 'peak RSS MB', decimals: 0, unit: 1e6 },
  rssSlopeBytesPerMinute: { head: 'slope MB/min', decimals: 2, unit: 1e6 },
  storeBytes: { head: 'store MB', decimals: 0, unit: 1e6 },
  walBytes: { head: 'WAL MB', decimals: 1, unit: 1e6 },
  startMs: { head: 'start to ready ms', decimals: 0 },
  generatorBusyShare: { head: 'generator busy %', decimals: 0, unit: 0.01 },
} satisfies Record<string, MeasureFacts>;

export type Measure = keyof typeof facts;
export const measures: Record<Measure, MeasureFacts> = facts;

/** Null where the system does not tell. */
export type Values = Partial<Record<Measure, number | null>>;

/** Where a row stands in the table and in the plot. Rows of one panel and place are compared. */
export interface Place {
  panel?: string;
  x: string;
  line: string;
}

export interface Row extends Place {
  /** One for each round. */
  rounds: Values[];
}

/** Keeps rows in the order in which they first come. */
export function keepRows() {
  const rows: Row[] = [];
  return {
    rows,
    add(place: Place, values: Values): void {
      const row = findRow(rows, place);
      if (row) row.rounds.push(values);
      else rows.push({ ...place, rounds: [values] });
    },
  };
}

export function findRow(rows: Row[], { panel, x, line }: Place): Row | undefined {
  return rows.find((row) => row.panel === panel && row.x === x && row.line === line);
}

/** In the unit of the measure. */
export function valuesOf(row: Row, measure: Measure): (number | null | undefined)[] {
  const { unit = 1 } = measures[measure];
  return row.rounds.map(({ [measure]: value }) => value && value / unit);
}

export function spreadOf(row: Row, measure: Measure): Spread | null {
  return spread(valuesOf(row, measure));
}

/** A measure of one row divided by that of another row, round by round. */
export function ratiosOf(row: Row, base: Row | undefined, measure: Measure): (number | null)[] {
  return row.rounds.map((values, round) => ratio(values[measure], base?.rounds[round]?.[measure]));
}

/** Adds the ratio of creates/s to those of the line `base`. */
export function addRatios(rows: Row[], name: Measure, base: string): void {
  for (const row of rows) {
    const ratios = ratiosOf(row, findRow(rows, { ...row, line: base }), 'createsPerSecond');
    for (const [round, values] of row.rounds.entries()) values[name] = ratios[round] ?? null;
  }
}
