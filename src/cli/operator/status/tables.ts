import { variableOf } from '../../../config/command-line.ts';
import type { FlagName } from '../../../config/flags.ts';
import type {
  ListedBackup,
  Minute,
  Setting,
  Time,
  TokenFigures,
  TokenList,
} from '../../../ops/contract.ts';
import {
  type CodeCount,
  codesText,
  hoursOf,
  refusedSenders,
  sendersText,
} from '../../../ops/history-figures.ts';
import { sizeText } from '../../../size-text.ts';
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

type Backup = ReturnType<typeof withKind>;

export function withKind(backup: ListedBackup) {
  return { ...backup, kind: backup.base === null ? 'full' : 'increment' };
}

export const backupColumns: readonly Column<Backup>[] = [
  { head: 'FILE', kind: 'whole', cell: ({ file }) => file },
  { head: 'MADE', kind: 'whole', cell: ({ createdAt }) => distanceText(createdAt, Date.now()) },
  { head: 'KIND', kind: 'whole', cell: ({ kind }) => kind },
  { head: 'PLANTS', kind: 'number', cell: ({ plants }) => numberOr(plants) },
  {
    head: 'SIZE',
    kind: 'number',
    cell: ({ bytes }) => (bytes === null ? unknown : sizeText(bytes)),
  },
  { head: 'CHECKED', kind: 'whole', cell: ({ checkedAt }) => distanceText(checkedAt, Date.now()) },
  { head: 'FOUND', kind: 'words', cell: ({ fault }) => fault ?? 'sound' },
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
  /** Of a secret. */
  readonly createdAt?: Time;
  /** Of all secrets of the name, by all services. Missing for all secrets but the newest. */
  readonly refused24Hours?: number;
}

/** Those that the service has seen since its start, and those that the history names. */
export function sendersIn(
  { tokens, otherCallers }: TokenList,
  minutes: readonly Minute[],
): readonly Sender[] {
  const inHistory = new Map(refusedSenders(minutes).map(({ name, count }) => [name, count]));
  const callers = otherCallers.map(({ kind, figures, name }) => {
    return { name, state: kind, figures, lastUsedAt: figures.lastUsedAt };
  });
  const seen = [...tokens, ...callers].flatMap((sender): Sender[] => {
    const { name, state, figures, lastUsedAt } = sender;
    if (figures === null) return [];
    const ofSecret = 'createdAt' in sender ? { createdAt: sender.createdAt } : {};
    const refusals = figures.refusals.map(({ code, count }) => ({ code, count }));
    return [{ name, state, ...ofSecret, ...figures, refusals, lastUsedAt }];
  });
  const newest = new Map(seen.map((sender) => [sender.name, sender]));
  const inDay = (sender: Sender) =>
    sender === newest.get(sender.name) ? { refused24Hours: inHistory.get(sender.name) ?? 0 } : {};
  return [
    ...seen.map((sender) => ({ ...sender, ...inDay(sender) })),
    ...Array.from(inHistory, ([name, refused24Hours]) => {
      return { name, state: 'not seen', refused24Hours };
    }).filter(({ name }) => !newest.has(name)),
  ];
}

const unknown = '-';

export const refused24HoursHead = 'REFUSED 24 H';

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
  { head: refused24HoursHead, kind: 'number', cell: (sender) => numberOr(sender.refused24Hours) },
  { head: 'BY CODE', kind: 'words', cell: ({ refusals = [] }) => codesText(refusals) },
];

function numberOr(value: number | null | undefined): string {
  return value == null ? unknown : numberText(value);
}
