import { useMemo } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { History, Minute, Sample } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Polled, usePolling } from './requests.ts';

const { samplesEveryMs, samplesKept } = limits.ops;
/** Time for which the service keeps samples. */
const keptMinutes = (samplesKept * samplesEveryMs) / 60_000;
const { minuteMs, keptMs, lateMs } = limits.history;

/** A time that the charts can show. */
export interface Span {
  /** In the address of the page. */
  readonly id: '5m' | '15m' | '1h' | '6h' | '24h';
  readonly title: string;
  readonly words: string;
  readonly minutes: number;
  /** Whether it is of the minutes of the history, and not of the last seconds. */
  readonly isHistory: boolean;
  readonly everyMs: number;
  /** Distance of two samples between which there is a gap. */
  readonly gapMs: number;
}

const live = { isHistory: false, everyMs: samplesEveryMs, gapMs: 2.5 * samplesEveryMs };
const ofHistory = { isHistory: true, everyMs: minuteMs, gapMs: 1.5 * minuteMs };

export const spans = [
  { id: '5m', title: '5 min', words: '5 minutes', minutes: 5, ...live },
  { id: '15m', title: '15 min', words: `${keptMinutes} minutes`, minutes: keptMinutes, ...live },
  { id: '1h', title: '1 h', words: 'hour', minutes: 60, ...ofHistory },
  { id: '6h', title: '6 h', words: '6 hours', minutes: 360, ...ofHistory },
  { id: '24h', title: '24 h', words: '24 hours', minutes: keptMs / 60_000, ...ofHistory },
] as const satisfies readonly Span[];

/** The samples of the last minutes. They outlive a restart of the service. */
export function useSamples(api: Api): Polled<readonly Sample[]> {
  const ask = useMemo(() => gatherSamples(api), [api]);
  return usePolling(ask, samplesEveryMs);
}

function gatherSamples(api: Api): (signal: AbortSignal) => Promise<readonly Sample[]> {
  let gathered: readonly Sample[] = [];
  return async (signal) => {
    const { samples } = await api.samples(gathered.at(-1)?.atMs ?? 0, signal);
    // After a restart, or after its clock was set back, the service sends all its samples.
    const firstMs = samples[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const earlier = gathered.filter(({ atMs }) => atMs < firstMs);
    return (gathered = within([...earlier, ...samples], keptMinutes));
  };
}

/** The minutes of the last 24 hours, and the minute that has begun. */
export function useHistory(api: Api): Polled<History> {
  const ask = useMemo(() => gatherHistory(api), [api]);
  return usePolling(ask, historyEveryMs);
}

/** While the history is not known, it is this one array: a new array would be a change. */
export const noMinutes: readonly Minute[] = [];

export function withBegun(history: History | undefined): readonly Minute[] {
  return history ? [...history.minutes, history.begun] : noMinutes;
}

/** Shorter than a minute, for the minute that has begun. */
const historyEveryMs = 10_000;

function gatherHistory(api: Api): (signal: AbortSignal) => Promise<History> {
  let gathered: readonly Minute[] = [];
  return async (signal) => {
    const afterMs = Math.max(0, (gathered.at(-1)?.atMs ?? 0) - lateMs);
    const { minutes, ...rest } = await api.history(afterMs, signal);
    const all = [...gathered.filter(({ atMs }) => atMs <= afterMs), ...minutes];
    const firstMs = (all.at(-1)?.atMs ?? 0) - keptMs;
    gathered = all.filter(({ atMs }) => atMs > firstMs);
    return { minutes: gathered, ...rest };
  };
}

/** The mean of the minute. */
export function sampleOf(minute: Minute): Sample {
  const { created, same, taken, failed, refused, p50Ms, p99Ms, queuePlants, connections } = minute;
  const rate = (creates: number) => creates / (minuteMs / 1_000);
  return {
    atMs: minute.atMs,
    createdPerSecond: rate(created),
    samePerSecond: rate(same),
    takenPerSecond: rate(taken),
    failedPerSecond: rate(failed),
    refusedPerSecond: rate(refused),
    ...{ p50Ms, p99Ms, queuePlants, connections, batchPlants: null },
  };
}

/** Those of the last minutes before the last one. */
function within<At extends Pick<Sample, 'atMs'>>(all: readonly At[], minutes: number) {
  const lastMs = all.at(-1)?.atMs ?? 0;
  return all.filter(({ atMs }) => atMs >= lastMs - minutes * 60_000);
}

/** What a curve shows. */
export type Field = Exclude<keyof Sample, 'atMs'>;

/** Times in seconds, and the values of each curve: the data of uPlot. */
export type Curves = [times: number[], ...values: (number | null)[][]];

/** The last minutes of the span. A gap has the times of the samples that it lacks, without values. */
export function curvesOf(
  samples: readonly Sample[],
  lines: readonly { readonly field: Field }[],
  { minutes, everyMs, gapMs }: Span,
): Curves {
  const all = samples.flatMap((sample, index): { atMs: number; sample?: Sample }[] => {
    const { atMs } = sample;
    const lastMs = samples[index - 1]?.atMs ?? atMs;
    const lacking = atMs - lastMs > gapMs ? Math.round((atMs - lastMs) / everyMs) - 1 : 0;
    const gap = Array.from({ length: lacking }, (_, n) => ({ atMs: lastMs + (n + 1) * everyMs }));
    return [...gap, { atMs, sample }];
  });
  const points = within(all, minutes);
  const values = lines.map(({ field }) => points.map(({ sample }) => sample?.[field] ?? null));
  return [points.map(({ atMs }) => atMs / 1_000), ...values];
}
