import { useMemo } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { Sample } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Polled, usePolling } from './requests.ts';

const { samplesEveryMs, samplesKept } = limits.ops;
/** Time for which the service keeps samples. */
export const keptMinutes = (samplesKept * samplesEveryMs) / 60_000;
/** Distance of two samples between which there is a gap. */
const gapMs = 2.5 * samplesEveryMs;

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

/** The samples of the last minutes before the last sample. */
export function within(samples: readonly Sample[], minutes: number): readonly Sample[] {
  const lastMs = samples.at(-1)?.atMs ?? 0;
  return samples.filter(({ atMs }) => atMs >= lastMs - minutes * 60_000);
}

/** What a curve shows. */
export type Field = Exclude<keyof Sample, 'atMs'>;

/** Times in seconds, and the values of each curve: the data of uPlot. */
export type Curves = [times: number[], ...values: (number | null)[][]];

/** A gap is a time without values. */
export function curvesOf(
  samples: readonly Sample[],
  lines: readonly { readonly field: Field }[],
): Curves {
  const points = samples.flatMap((sample, index): { atMs: number; sample?: Sample }[] => {
    const { atMs } = sample;
    const lastMs = samples[index - 1]?.atMs ?? atMs;
    const gap = atMs - lastMs > gapMs ? [{ atMs: lastMs + samplesEveryMs }] : [];
    return [...gap, { atMs, sample }];
  });
  const values = lines.map(({ field }) => points.map(({ sample }) => sample?.[field] ?? null));
  return [points.map(({ atMs }) => atMs / 1_000), ...values];
}
