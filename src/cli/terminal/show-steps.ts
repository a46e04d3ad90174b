import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import type { Standing } from '../../store/inspection.ts';
import type { Terminal } from '../command.ts';
import { fitted, type Part } from './fitted.ts';
import { followProgress, type Progress } from './follow-progress.ts';
import { clockText, numberText } from './progress.ts';

interface Output {
  /** Columns of a terminal. Undefined for a file or a pipe. */
  readonly columns: () => number | undefined;
  /** Shows a line that the next call replaces. */
  readonly replaceLine: (text: string) => void;
  readonly addLine: (text: string) => void;
}

/**
 * Shows the steps of a command, with what is done, the total and the time left. A terminal has one
 * line that changes. A file or a pipe gets a line every `limits.cli.progressLineMs`, and only of
 * steps whose end is known.
 *
 * @param now a clock, in milliseconds
 */
export function showSteps(output: Output, now: () => number): Terminal['showProgress'] {
  const { columns, replaceLine, addLine } = output;
  const { progressLineMs, progressBarMs } = limits.cli;
  const progress = followProgress(now);
  let shownMs = now();
  return (doing, standing) => {
    progress.take({ doing, standing });
    const width = columns();
    if (standing === undefined) {
      if (width !== undefined) replaceLine(doing);
      return;
    }
    if (now() - shownMs < (width === undefined ? progressLineMs : progressBarMs)) return;
    shownMs = now();
    const parts = partsOf(progress.now());
    if (width === undefined) addLine(fitted(parts, Infinity));
    // The cursor takes the last column.
    else replaceLine(fitted(parts, width - 1));
  };
}

function partsOf({ step, standing }: ReturnType<Progress['now']>): Part[] {
  if (standing === null) return [{ text: step, rank: 2 }];
  const { done, total, secondsLeft } = standing;
  const percent = total === 0 ? 100 : Math.min(100, Math.floor((100 * done) / total));
  return [
    { text: `${step}: ${percent} %`, rank: 2 },
    { text: amountText(standing), rank: 0 },
    ...(secondsLeft === null ? [] : [{ text: `${clockText(1_000 * secondsLeft)} left`, rank: 1 }]),
  ];
}

function amountText({ done, total, unit }: Standing): string {
  return unit === 'bytes'
    ? `${sizeText(done)} of ${sizeText(total)}`
    : `${numberText(done)} of ${numberText(total)} plants`;
}
