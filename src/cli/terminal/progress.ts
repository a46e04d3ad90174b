import { followProgress, type Now } from '../../backup/progress.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import type { Terminal } from '../command.ts';

interface Output {
  readonly isTerminal: boolean;
  /** Shows a line that the next call replaces. */
  replaceLine(text: string): void;
  addLine(text: string): void;
}

/**
 * Shows the step of a command, with what is done, the total and the time left. A terminal has one
 * line that changes. A file or a pipe gets a line every `limits.cli.progressLineMs`, and only of
 * steps whose end is known.
 */
export function showSteps({ isTerminal, replaceLine, addLine }: Output): Terminal['showProgress'] {
  const everyMs = isTerminal ? limits.cli.progressBarMs : limits.cli.progressLineMs;
  const progress = followProgress();
  let shownMs = performance.now();
  return (doing, standing) => {
    progress.take({ doing, standing });
    if (doing === '' || (isTerminal && standing === undefined)) {
      if (isTerminal) replaceLine(doing);
      return;
    }
    if (standing === undefined || performance.now() - shownMs < everyMs) return;
    shownMs = performance.now();
    if (isTerminal) replaceLine(textOf(progress.now()));
    else addLine(textOf(progress.now()));
  };
}

function textOf({ step, standing }: Now): string {
  if (standing === null) return step;
  const { done, total, unit, secondsLeft } = standing;
  const percent = total === 0 ? 100 : Math.min(100, Math.floor((100 * done) / total));
  const amount =
    unit === 'bytes'
      ? `${sizeText(done)} of ${sizeText(total)}`
      : `${numberText(done)} of ${numberText(total)} plants`;
  const left = secondsLeft === null ? '' : `, ${clockText(secondsLeft)} left`;
  return `${step}: ${percent} %, ${amount}${left}`;
}

/** @returns a text such as `1,000,000 plants in 2.1 s (476,190 plants/s)` */
export function tookText(plants: number, startedMs: number): string {
  const seconds = Math.max(1, performance.now() - startedMs) / 1_000;
  const rate = plantsText(Math.round(plants / seconds));
  return `${plantsText(plants)} in ${seconds.toFixed(1)} s (${rate}/s)`;
}

export function plantsText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'plant' : 'plants'}`;
}

export function numberText(value: number): string {
  return value.toLocaleString('en');
}

/** `1:05`, or `61:05`. */
function clockText(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
}
