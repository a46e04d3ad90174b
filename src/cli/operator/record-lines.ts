import stringWidth from 'fast-string-width';
import type { RequestRecord } from '../../ops/contract.ts';
import { visible } from '../terminal/screen.ts';
import { wrapped } from '../terminal/wrap.ts';

/** A longer name or address moves the rest of its line. */
const alignedCharsMax = 24;
const indent = '    ';
const day = '2026-11-24'.length;

/**
 * Turns records into lines of text. On a terminal, lines fit its width, a heading has the date, and
 * nothing is cut.
 *
 * @param width of the terminal; undefined for a file or a pipe, where each record has one line
 */
export function recordLines(width: () => number | undefined) {
  const widest = [0, 0, 0];
  let shownDay = '';

  /** As wide as the widest of its column so far. */
  function aligned(text: string, column: number): string {
    widest[column] = Math.max(widest[column] ?? 0, Math.min(text.length, alignedCharsMax));
    return text.padEnd(widest[column]);
  }

  function linesOf(record: RequestRecord): string[] {
    const { at, requestId, code, outcome, token, client } = record;
    const [columns, message] = [width(), visible(saysOf(record))];
    const facts = [`${code ?? outcome}`, visible(token ?? '-'), client || '-'].map(aligned);
    const time = columns === undefined ? at : at.slice(day + 1, -1);
    const head = [time, ...facts, requestId].join('  ');
    const line = `${head}  ${message}`;
    if (columns === undefined || stringWidth(line) <= columns) return [line];
    const [first = '', ...rest] =
      stringWidth(head) <= columns ? [head] : wrapped(head, columns - indent.length);
    const below = [...rest, ...wrapped(message, columns - indent.length)];
    return [first, ...below.map((more) => indent + more)];
  }

  return {
    /** The heading of a new day, for a terminal. */
    heading({ at }: RequestRecord): string | undefined {
      if (width() === undefined || at.slice(0, day) === shownDay) return undefined;
      shownDay = at.slice(0, day);
      return `${shownDay} (times in UTC)`;
    },
    linesOf,
  };
}

function saysOf({ message, cause }: RequestRecord): string {
  return cause ? `${message} Cause: ${cause}` : message;
}

/** A record for `--json`: a member without a value is left out. */
export function recordInJson(record: object): string {
  return JSON.stringify(record, (_, value) => (value === null ? undefined : value));
}
