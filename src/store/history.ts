/** What services have done in one minute of the clock. Times are in milliseconds since the epoch. */
export interface HistoryMinute {
  /** Start of the minute. */
  readonly atMs: number;
  /** The last start of a service that has a part of the minute. */
  readonly startedAtMs: number;
  /** Creates by outcome. */
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  /** Refusals other than taken and failed creates. */
  readonly refused: number;
  /** All refusals, by error code. Empty if an earlier version has written the minute. */
  readonly refusals: RefusalsByCode;
  /** Duration of creates, in microseconds; undefined without a create. */
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
  /** The most at the end of a second. */
  readonly queuePlants: number;
  readonly connections: number;
}

/** The number for each error code that there was. */
export type RefusalsByCode = Readonly<Record<string, number>>;

/**
 * Adds up the refusals of several nodes.
 *
 * @param rows JSON objects with commas between them; null without a row
 */
export function refusalsIn(rows: string | null): RefusalsByCode {
  const sums: Record<string, number> = {};
  for (const ofNode of JSON.parse(`[${rows ?? ''}]`) as RefusalsByCode[])
    for (const [code, count] of Object.entries(ofNode)) sums[code] = (sums[code] ?? 0) + count;
  return sums;
}

/** The minute of one run of a service. */
export interface NodeMinute extends HistoryMinute {
  /** A random number of the run. */
  readonly node: bigint;
}

export interface HistoryReader {
  /**
   * The minutes after `afterMs`, in order. Nodes are added up; of their durations and queues, a
   * minute has the largest. Minutes without a service are missing.
   */
  listHistory(afterMs: number): Promise<readonly HistoryMinute[]>;
}

export interface HistoryWriter {
  /**
   * Keeps the minute if it is new for the node, and if fewer than `limits.history.nodesMax` nodes
   * have one, and removes the minutes that are older than `limits.history.keptMs`.
   */
  recordMinute(minute: NodeMinute): Promise<void>;
}
