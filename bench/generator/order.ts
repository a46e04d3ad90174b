/** The order to the load generator, and its result. */
import type { IdKind } from '../ids.ts';
import type { CpuByRole } from '../process-stats.ts';

export interface Load {
  connections: number;
  /** Undefined for a closed loop: each connection sends its next create after the last reply. */
  arrivalsPerSecond?: number;
  warmupMs: number;
  measureMs: number;
}

export interface LoadOrder extends Load {
  /** Clients speak TLS. They trust any certificate. */
  isEncrypted: boolean;
  /** The ports of the target's processes, which share the connections. */
  ports: number[];
  /** A JSON file with the tokens that the clients take in turn, or one token. */
  tokens: { file: string } | string;
  /** The target's processes. */
  targetPids: number[];
  /** The main process of the target's database server, if there is one. */
  databasePid?: number | undefined;
  /** Default: `short`. */
  ids?: IdKind;
  /** Ordinal of the first id. The next ordinals follow. */
  firstId: number;
}

/** Percentiles over all measured creates. */
export interface Times {
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** The times are latencies. CPU times are null on systems other than Linux. */
export interface LoadResult extends Times {
  /** All acknowledged creates, also before and after the measured time. */
  acknowledged: number;
  /** Acknowledged in the measured time, as are the creates that divide the CPU times. */
  createsPerSecond: number;
  /** All threads of the target, user and system. */
  cpuUsPerCreate: number | null;
  /** All processes of the database server. Null for a target without one. */
  databaseCpuUsPerCreate: number | null;
  /** By kind of thread. Null for a target without a writer thread. */
  cpuUsPerCreateByRole: CpuByRole | null;
  /** Peak since the target started. */
  rssPeakBytes: number | null;
  /** CPU time of the generator by the measured time. At 1, the generator is the bottleneck. */
  generatorCpuShare: number;
  /** Share of the measured time in which the generator had work and no core. */
  generatorWaitShare: number | null;
  /** Delay until the generator noticed that a create was due. Null for a closed loop. */
  lateness: Times | null;
}
