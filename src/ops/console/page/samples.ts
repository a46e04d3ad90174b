import { useMemo } from 'preact/hooks';
import type { Api, Sample } from './api.ts';
import { type Polled, usePolling } from './polling.ts';

/** The service keeps as much. */
const keptMinutes = 15;
const everyMs = 1_000;
/** Samples that are farther apart than this many intervals have a gap between them. */
const gapIntervals = 2.5;

/**
 * The samples of the last minutes, each second anew. They stay when the service starts again, which
 * has forgotten them.
 */
export function useSamples(api: Api): Polled<readonly Sample[]> {
  const ask = useMemo(() => gatherSamples(api), [api]);
  return usePolling(ask, everyMs);
}

function gatherSamples(api: Api): (signal: AbortSignal) => Promise<readonly Sample[]> {
  let gathered: readonly Sample[] = [];
  return async (signal) => {
    const { samples } = await api.samples(gathered.at(-1)?.atMs ?? 0, signal);
    // After a restart, or after the clock was set back, the service sends all that it has, and some
    // of it is here already.
    const firstMs = samples[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const known = gathered.filter(({ atMs }) => atMs < firstMs);
    return (gathered = within([...known, ...samples], keptMinutes));
  };
}

/** Those of the last minutes before the last one. */
export function within(samples: readonly Sample[], minutes: number): readonly Sample[] {
  const lastMs = samples.at(-1)?.atMs ?? 0;
  return samples.filter(({ atMs }) => atMs >= lastMs - minutes * 60_000);
}

/** What a curve shows of a sample; null if there is nothing to show. */
export type ValueOf = (sample: Sample) => number | null;

/** Times in seconds, and values for each curve, as uPlot takes them. */
export type Curves = [times: number[], ...values: (number | null)[][]];

/** Where samples are missing, there is a time without values. */
export function curvesOf(
  samples: readonly Sample[],
  curves: readonly { readonly pick: ValueOf }[],
): Curves {
  const spaced = samples.flatMap((sample, index) => {
    const lastMs = samples[index - 1]?.atMs ?? sample.atMs;
    const isGap = sample.atMs - lastMs > gapIntervals * everyMs;
    return isGap
      ? [
          { atMs: lastMs + everyMs, sample: undefined },
          { atMs: sample.atMs, sample },
        ]
      : [{ atMs: sample.atMs, sample }];
  });
  const values = curves.map(({ pick }) =>
    spaced.map(({ sample }) => (sample ? pick(sample) : null)),
  );
  return [spaced.map(({ atMs }) => atMs / 1_000), ...values];
}
