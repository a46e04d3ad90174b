import { limits } from '../../limits.ts';
import { numberText, plantsText, sizeText } from '../../quantity-text.ts';
import type { Standing } from '../../store/inspection.ts';
import type { Terminal } from '../command.ts';

interface Output {
  readonly isTerminal: boolean;
  /** Shows a line that the next call replaces. */
  replaceLine(text: string): void;
  addLine(text: string): void;
}

/** A rate is not known sooner. */
const rateMs = 500;

/** A file or a pipe gets a line at a long interval, and only of steps whose end is known. */
export function showSteps({ isTerminal, replaceLine, addLine }: Output): Terminal['showProgress'] {
  const everyMs = isTerminal ? limits.cli.progressBarMs : limits.cli.progressLineMs;
  let shownMs = performance.now();
  let step = '';
  let total = 0;
  let began = { atMs: 0, done: 0 };
  return (doing, standing) => {
    if (standing === undefined) {
      if (isTerminal) replaceLine(doing);
      return;
    }
    const nowMs = performance.now();
    const nextStep = doing.replace(/:.*/s, '');
    if (nextStep !== step || standing.total !== total) began = { atMs: nowMs, done: standing.done };
    step = nextStep;
    total = standing.total;
    if (nowMs - shownMs < everyMs) return;
    shownMs = nowMs;
    const show = isTerminal ? replaceLine : addLine;
    show(`${step}: ${standingText(standing)}${leftText(standing, began.done, nowMs - began.atMs)}`);
  };
}

function standingText({ done, total, unit }: Standing): string {
  const percent = total === 0 ? 100 : Math.min(100, Math.floor((100 * done) / total));
  return unit === 'bytes'
    ? `${percent} %, ${sizeText(done)} of ${sizeText(total)}`
    : `${percent} %, ${numberText(done)} of ${numberText(total)} plants`;
}

function leftText({ done, total }: Standing, doneBefore: number, tookMs: number): string {
  const seconds = ((total - done) / (done - doneBefore)) * (tookMs / 1_000);
  if (tookMs < rateMs || !Number.isFinite(seconds)) return '';
  return `, ${clockText(Math.ceil(seconds))} left`;
}

/** @returns a text such as `1,000,000 plants in 2.1 s (476,190 plants/s)` */
export function tookText(plants: number, startedMs: number): string {
  const seconds = Math.max(1, performance.now() - startedMs) / 1_000;
  const rate = plantsText(Math.round(plants / seconds));
  return `${plantsText(plants)} in ${seconds.toFixed(1)} s (${rate}/s)`;
}

function clockText(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
}
