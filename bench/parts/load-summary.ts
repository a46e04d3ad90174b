/** The rounds drawn together: one row for each target and number of connections. */
import type { CpuByRole } from '../process-stats.ts';
import { type Spread, spread } from '../statistics.ts';
import type { TargetName } from '../targets.ts';
import type { LoadPart, Measurement } from './load.ts';

export interface Row {
  target: TargetName;
  connections: number;
  createsPerSecond: Spread | null;
  p50Ms: Spread | null;
  p99Ms: Spread | null;
  cpuUsPerCreate: Spread | null;
  /** Null for a target without worker threads. */
  cpuUsPerCreateByRole: Record<keyof CpuByRole, Spread | null> | null;
  rssPeakBytes: Spread | null;
}

/** How near the load generator came to being what was measured. */
export interface GeneratorRow {
  connections: number;
  /** Against the raw responder. */
  ceilingPerSecond: number;
  /** The ceiling ÷ the quickest measurement of any target. */
  headroom: number;
  /** The largest share of the measured time, of all measurements, in which it used a core. */
  cpuShareMax: number;
  /**
   * The same, with the time in which it waited for a core: close to 1, it never waited for the
   * target.
   */
  busyShareMax: number;
}

export function summarize({ settings, rounds }: LoadPart): Row[] {
  return settings.connections.flatMap((connections) =>
    settings.targets.flatMap((target) => {
      const measurements = rounds.flatMap((round) => round.targets[target]?.measurements ?? []);
      const own = measurements.filter((measurement) => measurement.connections === connections);
      return own.length === 0 ? [] : { target, connections, ...summarizeMeasurements(own) };
    }),
  );
}

function summarizeMeasurements(own: Measurement[]): Omit<Row, 'target' | 'connections'> {
  const over = (of: (measurement: Measurement) => number | null | undefined) => spread(own.map(of));
  const role = (name: keyof CpuByRole) =>
    over((measurement) => measurement.cpuUsPerCreateByRole?.[name]);
  const hasRoles = own.some((measurement) => measurement.cpuUsPerCreateByRole !== null);
  return {
    createsPerSecond: over((measurement) => measurement.createsPerSecond),
    p50Ms: over((measurement) => measurement.p50Ms),
    p99Ms: over((measurement) => measurement.p99Ms),
    cpuUsPerCreate: over((measurement) => measurement.cpuUsPerCreate),
    cpuUsPerCreateByRole: hasRoles
      ? { http: role('http'), writer: role('writer'), rest: role('rest') }
      : null,
    rssPeakBytes: over((measurement) => measurement.rssPeakBytes),
  };
}

export function summarizeGenerator({ ceiling, rounds }: LoadPart): GeneratorRow[] {
  const all = rounds.flatMap((round) =>
    Object.values(round.targets).flatMap((run) => run.measurements),
  );
  return ceiling.map(({ connections, createsPerSecond }) => {
    const own = all.filter((measurement) => measurement.connections === connections);
    return {
      connections,
      ceilingPerSecond: createsPerSecond,
      headroom: createsPerSecond / maximum(own, (measurement) => measurement.createsPerSecond),
      cpuShareMax: maximum(own, (measurement) => measurement.generatorCpuShare),
      busyShareMax: maximum(
        own,
        ({ generatorCpuShare, generatorWaitShare }) =>
          generatorCpuShare + (generatorWaitShare ?? 0),
      ),
    };
  });
}

function maximum(measurements: Measurement[], of: (measurement: Measurement) => number): number {
  return Math.max(...measurements.map(of));
}
