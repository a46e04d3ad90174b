import { limits } from '../../limits.ts';
import {
  type Distribution,
  distributionOf,
  type httpThreadLayout,
  type Measures,
  quantile,
  secondsBounds,
  since,
  sumOf,
  type writerLayout,
} from '../../threads/measures.ts';

/** What has happened in one second. */
interface Sample {
  /** Its end, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Creates by what became of them, as in `plant_store_creates_total`. */
  readonly createdPerSecond: number;
  readonly samePerSecond: number;
  readonly takenPerSecond: number;
  readonly failedPerSecond: number;
  /** Requests that were refused before they came to the store. */
  readonly refusedPerSecond: number;
  /** Of the creates that came to the store, whatever became of them; null if there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Plants in a transaction, on average; null if there was none. */
  readonly batchPlants: number | null;
  readonly queuePlants: number;
  readonly connections: number;
}

export interface Samples extends Disposable {
  /**
   * Those that came after the one of that time; all that are kept if there is none of that time.
   */
  after(atMs: number): readonly Sample[];
  /** What has become of the creates in the last `limits.ops.heartbeatStaleMs`. */
  recentCreates(): RecentCreates;
}

/** How many creates were stored as new plants, and how many the store did not take. */
export interface RecentCreates {
  readonly created: number;
  readonly failed: number;
}

export interface SampleSources {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly writers: readonly Measures<typeof writerLayout>[];
  readonly queuePlants: () => number;
  readonly connections: () => number;
}

/**
 * Looks at what the threads measure every `limits.ops.samplesEveryMs`, and keeps what has changed.
 */
export function startSamples(sources: SampleSources): Samples {
  const samples: Sample[] = [];
  /** Those of the last `limits.ops.heartbeatStaleMs`, the latest last. */
  const totals: Totals[] = [totalsOf(sources)];

  const sampling = setInterval(() => {
    const now = totalsOf(sources);
    // The clock has been set back: what was measured at later times would stand behind what is
    // measured now.
    while ((samples.at(-1)?.atMs ?? 0) >= now.atMs) samples.pop();
    samples.push(sampleOf(now, totals.at(-1) ?? now, sources));
    totals.push(now);
    if (samples.length > limits.ops.samplesKept) samples.shift();
    while (
      (totals[0]?.monotonicMs ?? now.monotonicMs) <
      now.monotonicMs - limits.ops.heartbeatStaleMs
    )
      totals.shift();
  }, limits.ops.samplesEveryMs);

  return {
    after: (atMs) => samples.slice(samples.findLastIndex((sample) => sample.atMs === atMs) + 1),
    recentCreates() {
      const now = totalsOf(sources);
      const then = totals[0] ?? now;
      return { created: now.created - then.created, failed: now.failed - then.failed };
    },
    [Symbol.dispose]: () => clearInterval(sampling),
  };
}

/** What has been counted since the start, and when it was looked at. */
interface Totals {
  readonly atMs: number;
  readonly monotonicMs: number;
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  readonly refused: number;
  /** Creates that came to the store. */
  readonly creates: Distribution;
  readonly batches: Distribution;
}

function totalsOf({ httpThreads, writers }: SampleSources): Totals {
  const total = (name: 'created' | 'same' | 'taken' | 'failed') =>
    sumOf(httpThreads.map((thread) => thread[name]))[0] ?? 0;
  const [taken, failed] = [total('taken'), total('failed')];
  const refusals = sumOf(httpThreads.map((thread) => thread.refusals)).reduce(
    (sum, value) => sum + value,
    0,
  );
  return {
    atMs: Date.now(),
    monotonicMs: performance.now(),
    ...{ created: total('created'), same: total('same'), taken, failed },
    // Those are answered with a refusal, too.
    refused: refusals - taken - failed,
    creates: distributionOf(httpThreads.map(({ createSeconds }) => createSeconds)),
    batches: distributionOf(writers.map(({ batchPlants }) => batchPlants)),
  };
}

function sampleOf(
  now: Totals,
  before: Totals,
  { queuePlants, connections }: SampleSources,
): Sample {
  const seconds = (now.monotonicMs - before.monotonicMs) / 1_000;
  // A thread may be read between two counts of the same request, and a client that has gone is not
  // answered.
  const rate = (name: 'created' | 'same' | 'taken' | 'failed' | 'refused') =>
    Math.max(0, now[name] - before[name]) / seconds;
  const creates = since(now.creates, before.creates);
  const batches = since(now.batches, before.batches);
  const inMs = (value: number | undefined) => (value === undefined ? null : value * 1_000);
  return {
    atMs: now.atMs,
    createdPerSecond: rate('created'),
    samePerSecond: rate('same'),
    takenPerSecond: rate('taken'),
    failedPerSecond: rate('failed'),
    refusedPerSecond: rate('refused'),
    p50Ms: inMs(quantile(creates, secondsBounds, 0.5)),
    p99Ms: inMs(quantile(creates, secondsBounds, 0.99)),
    batchPlants: batches.count === 0 ? null : batches.sum / batches.count,
    queuePlants: queuePlants(),
    connections: connections(),
  };
}
