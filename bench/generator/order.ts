/** What the load generator is told, and what it saw. */
import type { IdKind } from '../ids.ts';
import type { CpuByRole } from '../process-stats.ts';

/** How the target is loaded. */
export interface Load {
  connections: number;
  /**
   * Undefined for a closed loop: every connection sends its next create when the answer to the last
   * one is there.
   */
  arrivalsPerSecond?: number;
  warmupMs: number;
  measureMs: number;
}

export interface LoadOrder extends Load {
  /** Of the target's processes, which share the connections. */
  ports: number[];
  token: string;
  /** The target's processes, whose CPU time is read at both ends of the measured time. */
  targetPids: number[];
  /**
   * The first process of the database that the target stores in, if that is a server of its own.
   */
  databasePid?: number | undefined;
  /** Ascending and of ten digits unless said otherwise. */
  ids?: IdKind;
  /** The first id to create, as the ordinal that it has among its kind; the others follow. */
  firstId: number;
}

/** In milliseconds, over all that was measured. */
export interface Times {
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** Its times are the latencies. */
export interface LoadResult extends Times {
  /** Every 200 received, those before and after the measured time included. */
  acknowledged: number;
  /** Of those acknowledged within the measured time. CPU time is divided by their number, too. */
  createsPerSecond: number;
  /** All threads of the target, user and system; null where the kernel does not say. */
  cpuUsPerCreate: number | null;
  /** The same of the database server; null for a target without one. */
  databaseCpuUsPerCreate: number | null;
  /** The same, of each kind of thread; null for a target without worker threads. */
  cpuUsPerCreateByRole: CpuByRole | null;
  /** Since the target started, so of the heaviest load so far. */
  rssPeakBytes: number | null;
  /**
   * The generator's own CPU time over the measured time: 1 is a whole core, and then it is the
   * bottleneck.
   */
  generatorCpuShare: number;
  /** The share of the measured time in which the generator had work and no core to do it on. */
  generatorWaitShare: number | null;
  /**
   * How late the generator noticed arrivals that were due; null for a closed loop, which has none.
   */
  lateness: Times | null;
}
