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
  sendersAndCodesText,
  sendersText,
  serviceText,
  withGaps,
} from '../../../ops/history-figures.ts';
import { sizeText } from '../../../size-text.ts';
import { otherTokens } from '../../../store/tokens.ts';
import { numberText } from '../../terminal/progress.ts';
import { type Column, fits, isInLines, withRoomFor } from '../../terminal/table.ts';
import { isoMinute, slowestIn } from './figures.ts';

/** Without what was typed, and without the defaults, where there is no room. */
export function settingColumns(
  settings: readonly Setting[],
  width: number | undefined,
): readonly Column<Setting>[] {
  const all = [...inForceColumns, defaultColumn, typedColumn];
  const narrower = [all, all.slice(0, -1), all.slice(0, -2)];
  return narrower.find((columns) => !width || isInLines(columns, settings, width)) ?? all;
}

const inForceColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'words', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'whole', cell: fromText },
];

const defaultColumn: Column<Setting> = {
  ...{ head: 'DEFAULT', kind: 'words' },
  cell: (setting) => setting.default ?? '',
};

const typedColumn: Column<Setting> = {
  ...{ head: 'AS TYPED', kind: 'words' },
  cell: ({ value, source }) => (source === 'default' ? '' : value),
};

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

function startOfHour(atMs: number): number {
  return Math.floor(atMs / hourMs) * hourMs;
}

/** @param hasGaps whether the hours between them in which no service ran are among them */
export function hoursIn(minutes: readonly Minute[], hasGaps = false) {
  const hours = hoursOf(minutes, startOfHour);
  return (hasGaps ? withGaps(hours) : hours).map(({ atMs, minutes, slowest, ...figures }) => ({
    ...{ at: isoMinute(atMs), minutes, ...figures },
    slowestMinute: slowestIn(slowest),
  }));
}

/**
 * Hours are read one below the other, so a terminal that is too narrow names only the client with the
 * most refusals, and counts the last codes together; or else it names no client. Only below
 * `limits.cli.tableColumnsMin` it leaves out none.
 */
export function hourColumns(hours: readonly Hour[], width?: number): readonly Column<Hour>[] {
  const codes = codesIn(hours);
  const columnsWith = (shown: number, ...clients: readonly Column<Hour>[]) => {
    const others = shown === codes.length ? [] : [othersColumn(codes.slice(shown))];
    const ofCodes = [...codes.slice(0, shown).map(codeColumn), ...others];
    return [...countColumns, ...ofCodes, ...clients, service];
  };
  const all = columnsWith(codes.length, refusedClients);
  if (width === undefined || width < limits.cli.tableColumnsMin) return all;
  const fewer = codes.map((_, index) => codes.length - index);
  const narrower = [
    all,
    ...fewer.map((shown) => columnsWith(shown, mostRefused)),
    ...fewer.map((shown) => columnsWith(shown)),
  ];
  return narrower.find((columns) => fits(columns, hours, width)) ?? columnsWith(0);
}

/** The hours of one client, of which the history has the refusals. */
export function hoursOfSender(minutes: readonly Minute[], name: string, hasGaps = false) {
  const byHour = Map.groupBy(minutes, ({ atMs }) => startOfHour(atMs));
  const hours = hoursOf(minutes, startOfHour);
  return (hasGaps ? withGaps(hours) : hours).map(({ atMs, minutes, minutesWithout }) => {
    const refusals = refusalsOfSender(byHour.get(atMs) ?? [], name).map(({ code, count }) => {
      return { code, count };
    });
    const refused = refusals.reduce((sum, { count }) => sum + count, 0);
    return { at: isoMinute(atMs), minutes, minutesWithout, refused, refusals };
  });
}

type HourOfSender = ReturnType<typeof hoursOfSender>[number];

export function senderHourColumns(hours: readonly HourOfSender[]): readonly Column<HourOfSender>[] {
  return [
    hourColumn,
    numberColumn('REFUSED', ({ refused }) => refused),
    ...codesIn(hours).map(codeColumn),
    service,
  ];
}

const hourColumn: Column<{ readonly at: string }> = {
  ...{ head: 'HOUR', kind: 'whole' },
  cell: ({ at }) => at,
};

const countColumns: readonly Column<Hour>[] = [
  hourColumn,
  numberColumn('CREATED', ({ created }) => created),
  { head: 'WORST P99 MS', kind: 'number', cell: ({ slowestMinute: one }) => `${one?.p99Ms ?? ''}` },
];

export const refusedClients: Column<Hour> = {
  ...{ head: 'REFUSED CLIENTS', kind: 'words' },
  cell: ({ refusedBy }) => sendersAndCodesText(refusedBy),
};

const mostRefused: Column<Hour> = {
  ...{ head: 'MOST REFUSED', kind: 'words' },
  cell: ({ senders }) => sendersText(senders.slice(0, 1)),
};

const service: Column<Pick<Hour, 'minutesWithout'>> = {
  ...{ head: 'SERVICE', kind: 'whole' },
  cell: serviceText,
};

/** The refusals of an hour. */
type Refused = Pick<Hour, 'minutes' | 'refusals'>;

function codeColumn(code: number): Column<Refused> {
  return numberColumn(`${code}`, (hour) => countIn(hour, code));
}

function othersColumn(codes: readonly number[]): Column<Refused> {
  const sumIn = (hour: Refused) => codes.reduce((sum, code) => sum + countIn(hour, code), 0);
  return numberColumn('OTHERS', sumIn);
}

function countIn({ refusals }: Refused, code: number): number {
  return refusals.find((one) => one.code === code)?.count ?? 0;
}

/** Empty for an hour without a service. */
function numberColumn<Of extends Pick<Hour, 'minutes'>>(
  head: string,
  valueIn: (hour: Of) => number,
): Column<Of> {
  const cell = (hour: Of) => (hour.minutes === 0 ? '' : numberText(valueIn(hour)));
  return { head, kind: 'number', cell };
}

/** Failures first, then the codes with the most requests. */
function codesIn(hours: readonly Refused[]): readonly number[] {
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
  readonly refusedLastHour?: number;
  /** In the last whole minute. */
  readonly refusedLastMinute?: number;
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
  const inDay = (name: string) => {
    const byCode = refusalsOfSender(minutes, name);
    const sumOf = (span: 'lastMinute' | 'lastHour') =>
      byCode.reduce((sum, refusals) => sum + refusals[span], 0);
    return {
      refusedLastMinute: sumOf('lastMinute'),
      refusedLastHour: sumOf('lastHour'),
      refused24Hours: inHistory.get(name) ?? 0,
      refusals24Hours: byCode.map(({ code, count, firstMs }) => {
        return { code, count, firstAt: isoMinute(firstMs) };
      }),
    };
  };
  const notSeen = [...inHistory.keys()].filter((name) => !newest.has(name) && name !== otherTokens);
  return [
    ...seen.map((sender) => {
      const { name } = sender;
      return { ...sender, ...(sender === newest.get(name) ? inDay(name) : {}) };
    }),
    ...notSeen.map((name) => ({ name, state: 'not seen', ...inDay(name) })),
  ];
}

const unknown = '-';

/** With the refusals of the last minute and hour, and the begin of those of 24 hours, where there is room. */
export function tokenColumns(
  senders: readonly Sender[],
  width: number | undefined,
): readonly Column<Sender>[] {
  const some = [...figureColumns, byCode];
  const more = [...figureColumns, ...recentColumns, byCode];
  const columns = width === undefined || isInLines(more, senders, width) ? more : some;
  return withRoomFor([firstRefusals], columns, senders, width);
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
  { head: 'REFUSED 24h', kind: 'number', cell: (one) => numberOr(one.refused24Hours) },
];

const recentColumns: readonly Column<Sender>[] = [
  { head: 'REFUSED 1h', kind: 'number', cell: (one) => numberOr(one.refusedLastHour) },
  { head: 'REFUSED 1m', kind: 'number', cell: (one) => numberOr(one.refusedLastMinute) },
];

const byCode: Column<Sender> = {
  ...{ head: 'BY CODE', kind: 'words' },
  cell: ({ refusals = [] }) => codesText(refusals),
};

function numberOr(value: number | null | undefined): string {
  return value == null ? unknown : numberText(value);
}
