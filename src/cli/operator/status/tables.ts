import { distanceText } from '../../../age-text.ts';
import { variableOf } from '../../../config/command-line.ts';
import type { FlagName } from '../../../config/flags.ts';
import { limits } from '../../../limits.ts';
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
  refusalsOfSender,
  refusedSenders,
  sendersText,
  serviceText,
  withGaps,
} from '../../../ops/history-figures.ts';
import { sizeText } from '../../../size-text.ts';
import { numberText } from '../../terminal/progress.ts';
import { type Column, fits, withRoomFor } from '../../terminal/table.ts';
import { isoMinute, slowestIn } from './figures.ts';

export const settingColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'words', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'whole', cell: fromText },
  {
    head: 'AS TYPED',
    kind: 'words',
    cell: ({ value, source }) => (source === 'default' ? '' : value),
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

/** With exact times, where there is room. */
export function backupColumns(
  backups: readonly Backup[],
  width: number | undefined,
): readonly Column<Backup>[] {
  return withRoomFor(timeColumns, agedColumns, backups, width);
}

const timeColumns: readonly Column<Backup>[] = [
  { head: 'MADE AT', kind: 'time', cell: ({ createdAt }) => createdAt },
  { head: 'CHECKED AT', kind: 'time', cell: ({ checkedAt }) => checkedAt },
];

const agedColumns: readonly Column<Backup>[] = [
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

/** @param hasGaps whether the hours between them in which no service ran are among them */
export function hoursIn(minutes: readonly Minute[], hasGaps = false) {
  const hours = hoursOf(minutes, (atMs) => Math.floor(atMs / hourMs) * hourMs);
  return (hasGaps ? withGaps(hours) : hours).map(({ atMs, minutes, slowest, ...figures }) => ({
    ...{ at: isoMinute(atMs), minutes, ...figures },
    slowestMinute: slowestIn(slowest),
  }));
}

/**
 * Hours are read one below the other, so a terminal that is too narrow leaves out who was refused,
 * and then counts the last codes together. Only below `limits.cli.tableColumnsMin` it leaves out none.
 */
export function hourColumns(hours: readonly Hour[], width?: number): readonly Column<Hour>[] {
  const codes = codesIn(hours);
  const all = [...countColumns, ...codes.map(codeColumn), refusedClients, service];
  if (width === undefined || width < limits.cli.tableColumnsMin || fits(all, hours, width))
    return all;
  for (let shown = codes.length; ; shown -= 1) {
    const others = shown === codes.length ? [] : [othersColumn(codes.slice(shown))];
    const some = [...countColumns, ...codes.slice(0, shown).map(codeColumn), ...others, service];
    if (shown === 0 || fits(some, hours, width)) return some;
  }
}

const countColumns: readonly Column<Hour>[] = [
  { head: 'HOUR', kind: 'whole', cell: ({ at }) => at },
  numberColumn('CREATED', ({ created }) => created),
  { head: 'P99 MS', kind: 'number', cell: ({ slowestMinute: one }) => `${one?.p99Ms ?? ''}` },
];

const refusedClients: Column<Hour> = {
  ...{ head: 'REFUSED CLIENTS', kind: 'words' },
  cell: ({ senders }) => sendersText(senders),
};

const service: Column<Hour> = {
  ...{ head: 'SERVICE', kind: 'whole' },
  cell: serviceText,
};

function codeColumn(code: number): Column<Hour> {
  return numberColumn(`${code}`, (hour) => countIn(hour, code));
}

function othersColumn(codes: readonly number[]): Column<Hour> {
  const sumIn = (hour: Hour) => codes.reduce((sum, code) => sum + countIn(hour, code), 0);
  return numberColumn('OTHERS', sumIn);
}

function countIn({ refusals }: Hour, code: number): number {
  return refusals.find((one) => one.code === code)?.count ?? 0;
}

/** Empty for an hour without a service. */
function numberColumn(head: string, valueIn: (hour: Hour) => number): Column<Hour> {
  const cell = (hour: Hour) => (hour.minutes === 0 ? '' : numberText(valueIn(hour)));
  return { head, kind: 'number', cell };
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
  /** The most of them, by code. */
  readonly refusals24Hours?: readonly (CodeCount & { readonly firstAt: string })[];
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
  const inDay = (name: string) => ({
    refused24Hours: inHistory.get(name) ?? 0,
    refusals24Hours: refusalsOfSender(minutes, name).map(({ firstMs, ...counted }) => {
      return { ...counted, firstAt: isoMinute(firstMs) };
    }),
  });
  const notSeen = [...inHistory.keys()].filter((name) => !newest.has(name));
  return [
    ...seen.map((sender) => {
      const { name } = sender;
      return { ...sender, ...(sender === newest.get(name) ? inDay(name) : {}) };
    }),
    ...notSeen.map((name) => ({ name, state: 'not seen', ...inDay(name) })),
  ];
}

const unknown = '-';

export const refused24HoursHead = 'REFUSED 24 H';

/** With the begin of the refusals, where there is room. */
export function tokenColumns(
  senders: readonly Sender[],
  width: number | undefined,
): readonly Column<Sender>[] {
  return withRoomFor([firstRefusals], figureColumns, senders, width);
}

const firstRefusals: Column<Sender> = {
  head: 'FIRST IN 24 H',
  kind: 'words',
  cell: ({ refusals24Hours = [] }) =>
    refusals24Hours.map(({ code, firstAt }) => `${code}: ${firstAt}`).join(', '),
};

const figureColumns: readonly Column<Sender>[] = [
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
