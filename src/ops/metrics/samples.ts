import { problemNames } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import {
  distributionOf,
  type httpThreadLayout,
  type Measures,
  quantile,
  secondsBounds,
  since,
  sumOf,
} from '../../threads/measures.ts';
import { type Outcome, outcomes } from '../../tokens/tally.ts';
import type { Overview, Sample, SampleColumns } from '../contract.ts';

type HttpThreads = readonly Measures<typeof httpThreadLayout>[];

export interface SampleSources {
  readonly httpThreads: HttpThreads;
  readonly queuePlants: () => number;
  readonly connections: () => number;
}

export type Samples = ReturnType<typeof startSamples>;

const unavailableIndex = problemNames.indexOf('storeUnavailable');

export function byOutcome<T>(of: (outcome: Outcome) => T): Record<Outcome, T> {
  return Object.fromEntries(outcomes.map((one) => [one, of(one)])) as Record<Outcome, T>;
}

export function createsOf(httpThreads: HttpThreads, outcome: Outcome): number {
  return sumOf(httpThreads.map((thread) => thread[outcome]))[0] ?? 0;
}

/** Takes a sample each `limits.ops.samplesEveryMs`, and keeps the last `limits.ops.samplesKept`. */
export function startSamples(sources: SampleSources) {
  const { samplesEveryMs, samplesKept, heartbeatStaleMs, talliesMs } = limits.ops;
  const samples: Sample[] = [];
  let last = totalsOf(sources);
  /** Of the last `talliesMs`, in ascending order. */
  const recent = [last];

  const sampling = setInterval(() => {
    const now = totalsOf(sources);
    // After the clock was set back, later times would stand before this one.
    while ((samples.at(-1)?.atMs ?? 0) >= now.atMs) samples.pop();
    samples.push(sampleOf(now, last, sources));
    if (samples.length > samplesKept) samples.shift();
    recent.push(now);
    while ((recent[0] ?? now).monotonicMs < now.monotonicMs - talliesMs) recent.shift();
    last = now;
  }, samplesEveryMs);

  return {
    /** Samples later than the sample with this time; all samples if no sample has this time. */
    after: (atMs: number): readonly Sample[] =>
      samples.slice(samples.findLastIndex((sample) => sample.atMs === atMs) + 1),
    /** Creates of the last `limits.ops.heartbeatStaleMs`. */
    recentCreates() {
      const now = totalsOf(sources);
      const sinceMs = now.monotonicMs - heartbeatStaleMs;
      const before = recent.find(({ monotonicMs }) => monotonicMs >= sinceMs) ?? now;
      return {
        created: now.created - before.created,
        failed: now.failed - before.failed,
        /** Those that have failed, and those whose token could not be checked. */
        unavailable: now.unavailable - before.unavailable,
      };
    },
    tallies(): Pick<Overview, 'creates' | 'refused'> {
      const now = totalsOf(sources);
      const before = recent[0] ?? now;
      const tally = (total: number, earlier: number) => ({ total, lastMinute: total - earlier });
      return {
        creates: byOutcome((outcome) => tally(now[outcome], before[outcome])),
        refused: tally(now.refusals, before.refusals),
      };
    },
    [Symbol.dispose]: () => clearInterval(sampling),
  };
}

type Totals = ReturnType<typeof totalsOf>;

function totalsOf({ httpThreads }: SampleSources) {
  const creates = byOutcome((outcome) => createsOf(httpThreads, outcome));
  const byProblem = sumOf(httpThreads.map((thread) => thread.refusals));
  const refusals = byProblem.reduce((sum, count) => sum + count, 0);
  return {
    atMs: Date.now(),
    monotonicMs: performance.now(),
    ...creates,
    /** Refusals but those of taken and failed creates. */
    turnedAway: refusals - creates.taken - creates.failed,
    createSeconds: distributionOf(httpThreads.map(({ createSeconds }) => createSeconds)),
    /** With those of taken and failed creates. */
    refusals,
    unavailable: byProblem[unavailableIndex] ?? 0,
  };
}

function sampleOf(
  now: Totals,
  before: Totals,
  { queuePlants, connections }: SampleSources,
): Sample {
  const seconds = (now.monotonicMs - before.monotonicMs) / 1_000;
  // Could be negative: a thread may be read between two counts of one request, and a client that
  // has gone is not answered.
  const rate = (name: Outcome | 'turnedAway') =>
    rounded(Math.max(0, now[name] - before[name]) / seconds);
  const creates = since(now.createSeconds, before.createSeconds);
  const quantileMs = (share: number) => {
    const value = quantile(creates, secondsBounds, share);
    return value === undefined ? null : rounded(value * 1_000);
  };
  return {
    atMs: now.atMs,
    createdPerSecond: rate('created'),
    samePerSecond: rate('same'),
    takenPerSecond: rate('taken'),
    failedPerSecond: rate('failed'),
    refusedPerSecond: rate('turnedAway'),
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
    queuePlants: queuePlants(),
    connections: connections(),
  };
}

export function columnsOf(samples: readonly Sample[]): SampleColumns {
  const members = Object.keys(samples[0] ?? { atMs: 0 }) as (keyof Sample)[];
  const columns = members.map((member) => [member, samples.map((sample) => sample[member])]);
  return Object.fromEntries(columns);
}

/** To what a chart can show. A console that opens reads them all. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
