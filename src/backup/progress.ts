import type { Standing } from '../store/inspection.ts';

/** How far a job is, by what its process tells. */
export interface Progress {
  /** Takes a message of the process. */
  take(message: unknown): void;
  now(): Now;
}

export interface Now {
  readonly step: string;
  /** `secondsLeft` is null before a rate is known. */
  readonly standing: (Standing & { readonly secondsLeft: number | null }) | null;
}

/** A rate is not known sooner. */
const rateMs = 500;

export function followProgress(): Progress {
  let step = 'starting';
  let standing: Standing | undefined;
  let began = { atMs: performance.now(), done: 0 };
  return {
    take(message) {
      const { doing, standing: next } = message as { doing: string; standing?: Standing };
      // Empty text removes the line on a terminal.
      if (doing === '') return;
      const nextStep = doing.replace(/:.*/s, '');
      if (nextStep !== step || next?.total !== standing?.total)
        began = { atMs: performance.now(), done: next?.done ?? 0 };
      step = nextStep;
      standing = next;
    },
    now() {
      if (standing === undefined) return { step, standing: null };
      const { done, total } = standing;
      const tookMs = performance.now() - began.atMs;
      const left = ((total - done) / (done - began.done)) * (tookMs / 1_000);
      const secondsLeft = tookMs >= rateMs && Number.isFinite(left) ? Math.ceil(left) : null;
      return { step, standing: { ...standing, secondsLeft } };
    },
  };
}
