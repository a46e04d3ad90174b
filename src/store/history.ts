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
  readonly refusals: Counts;
  /**
   * Refusals by `senderKey`: of each node, the `limits.history.sendersMax` with the most, all others
   * as those of `otherTokens`, and those without a known token with an empty name. Earlier versions
   * have written names without codes, or nothing.
   */
  readonly refusedSenders: Counts;
  /** Duration of creates, in microseconds; undefined without a create. */
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
  /** The most at the end of a second. */
  readonly queuePlants: number;
  readonly connections: number;
}

/** The name of a token or a subject, which may have spaces, and an error code. */
export function senderKey(name: string, code: number): string {
  return `${name} ${code}`;
}

/** @returns no code for a key of an earlier version, which is a name */
export function senderOf(key: string): { readonly name: string; readonly code?: string } {
  const [, name, code] = /^(.*) (\d{5})$/s.exec(key) ?? [];
  return name === undefined || code === undefined ? { name: key } : { name, code };
}

/** Numbers by a key, without those that are 0. */
export type Counts = Readonly<Record<string, number>>;

/**
 * Adds up the counts of several nodes.
 *
 * @param rows JSON objects with commas between them; null without a row
 */
export function countsIn(rows: string | null): Counts {
  const sums = new Map<string, number>();
  for (const ofNode of JSON.parse(`[${rows ?? ''}]`) as Counts[])
    for (const [key, count] of Object.entries(ofNode)) sums.set(key, (sums.get(key) ?? 0) + count);
  return Object.fromEntries(sums);
}

/** The minute of one run of a service. */
export interface NodeMinute extends HistoryMinute {
  /** A random number of the run. */
  readonly node: bigint;
  /** The stop of the service in the minute; 0 without a stop. */
  readonly stoppedAtMs: number;
}

/** A run of a service that goes on, or that a crash, a kill or a power cut has ended. */
export interface UnstoppedRun {
  readonly startedAtMs: number;
  /** Start of its last minute in the history. */
  readonly lastMs: number;
}

export interface HistoryReader {
  /**
   * The minutes after `afterMs`, in order. Nodes are added up; of their durations and queues, a
   * minute has the largest. Minutes without a service are missing.
   */
  listHistory(afterMs: number): Promise<readonly HistoryMinute[]>;
  /**
   * The runs with a minute after `afterMs` that have no stop, in order of their last minutes. Runs of
   * earlier versions are missing.
   */
  listUnstoppedRuns(afterMs: number): Promise<readonly UnstoppedRun[]>;
}

export interface HistoryWriter {
  /**
   * Keeps the minute if it is new for the node, or else its stop, and if fewer than
   * `limits.history.nodesMax` nodes have one, and removes the minutes that are older than
   * `limits.history.keptMs`.
   */
  recordMinute(minute: NodeMinute): Promise<void>;
}
