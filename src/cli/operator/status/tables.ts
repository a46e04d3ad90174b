import { variableOf } from '../../../config/command-line.ts';
import type { FlagName } from '../../../config/flags.ts';
import type { Minute, Setting, Time, TokenFigures, TokenList } from '../../../ops/contract.ts';
import {
  type CodeCount,
  codesText,
  hoursOf,
  refusedSenders,
  sendersText,
} from '../../../ops/history-figures.ts';
import { distanceText } from '../../age-text.ts';
import { numberText } from '../../terminal/progress.ts';
import type { Column } from '../../terminal/table.ts';
import { isoMinute, slowestIn } from './figures.ts';

export const settingColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'words', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'whole', cell: fromText },
  {
    head: 'AS TYPED',
    kind: 'words',
    cell: ({ value, inForce }) => (inForce === null ? '' : value),
  },
  { head: 'DEFAULT', kind: 'words', cell: (setting) => setting.default ?? '' },
];

/** A variable by its name. */
function fromText({ name, source }: Setting): string {
  return source === 'variable' ? variableOf(name as FlagName) : source;
}

type Hour = ReturnType<typeof hoursIn>[number];

const hourMs = 3_600_000;

export function hoursIn(minutes: readonly Minute[]) {
  const hours = hoursOf(minutes, (atMs) => Math.floor(atMs / hourMs) * hourMs);
  return hours.map(({ atMs, minutes, slowest, ...figures }) => ({
    ...{ at: isoMinute(atMs), minutes, ...figures },
    slowestMinute: slowestIn(slowest),
  }));
}

/** With a column for each code. */
export function hourColumns(hours: readonly Hour[]): readonly Column<Hour>[] {
  return [
    { head: 'HOUR', kind: 'whole', cell: ({ at }) => at },
    { head: 'CREATED', kind: 'number', cell: ({ created }) => numberText(created) },
    { head: 'P99 MS', kind: 'number', cell: ({ slowestMinute: one }) => `${one?.p99Ms ?? ''}` },
    ...codesIn(hours).map((code): Column<Hour> => {
      const countIn = ({ refusals }: Hour) => refusals.find((one) => one.code === code)?.count;
      return { head: `${code}`, kind: 'number', cell: (hour) => numberText(countIn(hour) ?? 0) };
    }),
    { head: 'REFUSED CLIENTS', kind: 'words', cell: ({ senders }) => sendersText(senders) },
  ];
}

/** Failures first, then the codes with the most requests. */
function codesIn(hours: readonly Hour[]): readonly number[] {
  const counts = new Map<number, number>();
  for (const { code, count } of hours.flatMap(({ refusals }) => refusals))
    counts.set(code, (counts.get(code) ?? 0) + count);
  const isFailure = (code: number) => Number(code >= 50_000);
  return [...counts]
    .sort(([one, ofOne], [other, ofOther]) => ofOther - ofOne || one - other)
    .sort(([one], [other]) => isFailure(other) - isFailure(one))
    .map(([code]) => code);
}

/** A secret of a token, or a subject. */
interface Sender extends Partial<Omit<TokenFigures, 'refusals' | 'lastUsedAt'>> {
  readonly name: string;
  readonly state: string;
  /** While the secret was valid. */
  readonly lastUsedAt?: Time | null;
  readonly refusals?: readonly CodeCount[];
  /** Of all secrets of the name, by all services. */
  readonly refused24Hours: number;
}

/** Those that the service has seen since its start, and those that the history names. */
export function sendersIn(
  { tokens, otherCallers }: TokenList,
  minutes: readonly Minute[],
): readonly Sender[] {
  const inHistory = new Map(refusedSenders(minutes).map(({ name, count }) => [name, count]));
  const callers = otherCallers.map(({ kind, ...one }) => {
    return { ...one, state: kind, lastUsedAt: one.figures.lastUsedAt };
  });
  const seen = [...tokens, ...callers].flatMap(({ name, state, figures, lastUsedAt }): Sender[] => {
    if (figures === null) return [];
    const refusals = figures.refusals.map(({ code, count }) => ({ code, count }));
    const refused24Hours = inHistory.get(name) ?? 0;
    return [{ name, state, ...figures, refusals, lastUsedAt, refused24Hours }];
  });
  for (const { name } of seen) inHistory.delete(name);
  const state = 'not seen';
  return [
    ...seen,
    ...Array.from(inHistory, ([name, refused24Hours]) => ({ name, state, refused24Hours })),
  ];
}

const unknown = '-';

export const tokenColumns: readonly Column<Sender>[] = [
  { head: 'NAME', kind: 'text', cell: ({ name }) => name },
  { head: 'STATE', kind: 'whole', cell: ({ state }) => state },
  {
    head: 'LAST USED',
    kind: 'whole',
    cell: ({ lastUsedAt }) => (lastUsedAt ? distanceText(lastUsedAt, Date.now()) : unknown),
  },
  { head: 'CREATED', kind: 'number', cell: ({ created }) => numberOr(created) },
  { head: 'SAME', kind: 'number', cell: ({ same }) => numberOr(same) },
  { head: 'REFUSED', kind: 'number', cell: ({ refused }) => numberOr(refused) },
  { head: '24 HOURS', kind: 'number', cell: ({ refused24Hours }) => numberText(refused24Hours) },
  { head: 'BY CODE', kind: 'words', cell: ({ refusals = [] }) => codesText(refusals) },
];

function numberOr(value: number | undefined): string {
  return value === undefined ? unknown : numberText(value);
}
