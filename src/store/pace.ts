import { limits } from '../limits.ts';

/**
 * Keeps work to a share of the time, so that a service beside it has the disk and the cores.
 *
 * @returns takes the duration of each step of the work, and returns the pause that is due: mostly 0
 */
export function startPace(): (workedMs: number) => number {
  const { workMs, pausePerWork } = limits.scrub;
  let sumMs = 0;
  return (workedMs) => {
    sumMs += workedMs;
    if (sumMs < workMs) return 0;
    const pauseMs = sumMs * pausePerWork;
    sumMs = 0;
    return pauseMs;
  };
}
