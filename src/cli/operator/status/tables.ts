import type { Minute, Setting, TokenFigures, TokenList } from '../../../ops/contract.ts';
import { type CodeCount, codesText, hoursOf } from '../../../ops/history-figures.ts';
import { distanceText } from '../../age-text.ts';
import type { Column } from '../../terminal/table.ts';
import { isoMinute, number, slowestIn } from './figures.ts';

export const settingColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'text', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'text', cell: ({ source }) => source },
  { head: 'AS TYPED', kind: 'text', cell: ({ value, inForce }) => (inForce === null ? '' : value) },
  { head: 'DEFAULT', kind: 'text', cell: (setting) => setting.default ?? '' },
];

type Hour = ReturnType<typeof hoursIn>[number];

const hourMs = 3_600_000;

export function hoursIn(minutes: readonly Minute[]) {
  const hours = hoursOf(minutes, (atMs) => Math.floor(atMs / hourMs) * hourMs);
  return hours.map(({ atMs, minutes, slowest, ...figures }) => ({
    ...{ at: isoMinute(atMs), minutes, ...figures },
    slowestMinute: slowestIn(slowest),
  }));
}

/** With a column for each code; failures come first. */
export function hourColumns(hours: readonly Hour[]): readonly Column<Hour>[] {
  const codes = new Set(hours.flatMap(({ refusals }) => refusals.map(({ code }) => code)));
  return [
    { head: 'HOUR', kind: 'text', cell: ({ at }) => at },
    { head: 'CREATED', kind: 'number', cell: ({ created }) => number(created) },
    { head: 'P99 MS', kind: 'number', cell: ({ slowestMinute: one }) => `${one?.p99Ms ?? ''}` },
    ...[...codes]
      .sort((one, other) => other - one)
      .map((code): Column<Hour> => {
        const countIn = ({ refusals }: Hour) => refusals.find((one) => one.code === code)?.count;
        return { head: `${code}`, kind: 'number', cell: (hour) => number(countIn(hour) ?? 0) };
      }),
  ];
}

/** A secret of a token, or a subject, which the service has seen since its start. */
interface Sender extends Omit<TokenFigures, 'refusals'> {
  readonly name: string;
  readonly state: string;
  readonly refusals: readonly CodeCount[];
}

export function sendersIn({ tokens, otherCallers }: TokenList): readonly Sender[] {
  const callers = otherCallers.map(({ kind, ...one }) => ({ ...one, state: kind }));
  return [...tokens, ...callers].flatMap(({ name, state, figures }) => {
    if (figures === null) return [];
    const refusals = figures.refusals.map(({ code, count }) => ({ code, count }));
    return [{ name, state, ...figures, refusals }];
  });
}

export const tokenColumns: readonly Column<Sender>[] = [
  { head: 'NAME', kind: 'text', cell: ({ name }) => name },
  { head: 'STATE', kind: 'text', cell: ({ state }) => state },
  {
    head: 'LAST USED',
    kind: 'text',
    cell: ({ lastUsedAt }) => distanceText(lastUsedAt, Date.now()),
  },
  { head: 'CREATED', kind: 'number', cell: ({ created }) => number(created) },
  { head: 'SAME', kind: 'number', cell: ({ same }) => number(same) },
  { head: 'REFUSED', kind: 'number', cell: ({ refused }) => number(refused) },
  { head: 'BY CODE', kind: 'text', cell: ({ refusals }) => codesText(refusals) },
];
