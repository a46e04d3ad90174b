import { limits } from '../../limits.ts';
import type { Terminal } from '../command.ts';
import { fitted } from './fitted.ts';

interface Standing {
  readonly plants: number;
  /** The done part of the work, from 0 to 1. Undefined if the end is unknown. */
  readonly share: number | undefined;
}

export interface Progress {
  /** Call it often. */
  show(standing: Standing): void;
  /** Removes the bar. @returns a text such as `1,000,000 plants in 2.1 s (476,190 plants/s)` */
  finish(plants: number): string;
}

/**
 * Shows a bar with the rate and the time left on a terminal, and elsewhere a line every
 * `limits.cli.progressLineMs`.
 *
 * @param now a clock, in milliseconds
 */
export function startProgress(
  terminal: Pick<Terminal, 'errorsWidth' | 'note' | 'showProgress'>,
  now: () => number,
): Progress {
  const startedMs = now();
  const everyMs =
    terminal.errorsWidth === undefined ? limits.cli.progressLineMs : limits.cli.progressBarMs;
  let shownMs = startedMs;
  const plantsPerSecond = (plants: number) =>
    Math.round((1_000 * plants) / Math.max(1, now() - startedMs));

  return {
    show({ plants, share }) {
      const nowMs = now();
      if (nowMs - shownMs < everyMs) return;
      shownMs = nowMs;
      const leftMs = share ? ((nowMs - startedMs) * (1 - share)) / share : undefined;
      const parts = [
        ...(share === undefined ? [] : [{ text: `${Math.floor(100 * share)} %`, rank: 3 }]),
        { text: plantsText(plants), rank: 2 },
        { text: `${plantsText(plantsPerSecond(plants))}/s`, rank: 1 },
        ...(leftMs === undefined ? [] : [{ text: `${clockText(leftMs)} left`, rank: 4 }]),
      ];
      const { errorsWidth } = terminal;
      if (errorsWidth === undefined) return void terminal.note(fitted(parts, Infinity));
      // The cursor takes the last column.
      const columns = errorsWidth - 1;
      const withBar = share === undefined ? '' : `${bar(share)} ${fitted(parts, Infinity)}`;
      const fits = withBar !== '' && withBar.length <= columns;
      terminal.showProgress(fits ? withBar : fitted(parts, columns));
    },
    finish(plants) {
      terminal.showProgress('');
      return `${plantsText(plants)} in ${((now() - startedMs) / 1_000).toFixed(1)} s (${plantsText(plantsPerSecond(plants))}/s)`;
    },
  };
}

const barChars = 20;

function bar(share: number): string {
  return `[${'#'.repeat(Math.floor(barChars * share)).padEnd(barChars, '.')}]`;
}

export function plantsText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'plant' : 'plants'}`;
}

export function numberText(value: number): string {
  return value.toLocaleString('en');
}

/** `1:05`, or `1:00:05`. */
export function clockText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [first = 0, ...rest] = parts[0] === 0 ? parts.slice(1) : parts;
  return [first, ...rest.map((part) => `${part}`.padStart(2, '0'))].join(':');
}
