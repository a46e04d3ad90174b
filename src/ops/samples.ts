import { limits } from '../limits.ts';
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
} from '../measures.ts';

/** What has happened in one second. */
interface Sample {
  /** Its end, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly createsPerSecond: number;
  readonly refusalsPerSecond: number;
  /** Of the creates that were answered; null if there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Plants in a transaction, on average; null if there was none. */
  readonly batchPlants: number | null;
  readonly queuePlants: number;
  readonly connections: number;
}

export interface Samples extends Disposable {
  /** The last `limits.samplesKept`, as far as they are later than that. */
  after(atMs: number): readonly Sample[];
}

export interface SampleSources {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly writers: readonly Measures<typeof writerLayout>[];
  readonly queuePlants: () => number;
  readonly connections: () => number;
}

/** Looks at what the threads measure every `limits.samplesEveryMs`, and keeps what has changed. */
export function startSamples(sources: SampleSources): Samples {
  const samples: Sample[] = [];
  let before = totalsOf(sources);

  const sampling = setInterval(() => {
    const now = totalsOf(sources);
    samples.push(sampleOf(now, before, sources));
    if (samples.length > limits.samplesKept) samples.shift();
    before = now;
  }, limits.samplesEveryMs);

  return {
    after: (atMs) => samples.filter((sample) => sample.atMs > atMs),
    [Symbol.dispose]: () => clearInterval(sampling),
  };
}

/** What has been counted since the start, and when it was looked at. */
interface Totals {
  readonly atMs: number;
  readonly monotonicMs: number;
  readonly creates: Distribution;
  readonly refusals: number;
  readonly batches: Distribution;
}

function totalsOf({ httpThreads, writers }: SampleSources): Totals {
  return {
    atMs: Date.now(),
    monotonicMs: performance.now(),
    creates: distributionOf(httpThreads.map(({ createSeconds }) => createSeconds)),
    refusals: sumOf(httpThreads.map(({ refusals }) => refusals)).reduce((sum, value) => sum + value, 0),
    batches: distributionOf(writers.map(({ batchPlants }) => batchPlants)),
  };
}

function sampleOf(now: Totals, before: Totals, { queuePlants, connections }: SampleSources): Sample {
  const seconds = (now.monotonicMs - before.monotonicMs) / 1_000;
  const creates = since(now.creates, before.creates);
  const batches = since(now.batches, before.batches);
  const inMs = (value: number | undefined) => (value === undefined ? null : value * 1_000);
  return {
    atMs: now.atMs,
    createsPerSecond: creates.count / seconds,
    refusalsPerSecond: (now.refusals - before.refusals) / seconds,
    p50Ms: inMs(quantile(creates, secondsBounds, 0.5)),
    p99Ms: inMs(quantile(creates, secondsBounds, 0.99)),
    batchPlants: batches.count === 0 ? null : batches.sum / batches.count,
    queuePlants: queuePlants(),
    connections: connections(),
  };
}
