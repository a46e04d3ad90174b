import { limits } from '../limits.ts';
import { sizeText } from '../size-text.ts';
import type { Minute, Overview, Tally } from './contract.ts';

/*
 * What the minutes of the history say together: for the console, and for `status` in a terminal.
 */

const { minuteMs } = limits.history;
const hourMs = 60 * minuteMs;

export interface HistoryFigures extends Pick<Minute, 'created' | 'same' | 'failed'> {
  /** Refused creates and other refused requests. */
  readonly refused: number;
  /** The minute with the largest p99; undefined without a create. */
  readonly slowest: Minute | undefined;
}

export function historyFigures(minutes: readonly Minute[]): HistoryFigures {
  const timed = minutes.filter(({ p99Ms }) => p99Ms !== null);
  return {
    created: sumOf(minutes, 'created'),
    same: sumOf(minutes, 'same'),
    failed: sumOf(minutes, 'failed'),
    refused: sumOf(minutes, 'refused') + sumOf(minutes, 'taken'),
    slowest: timed.toSorted((one, other) => (other.p99Ms ?? 0) - (one.p99Ms ?? 0))[0],
  };
}

type Counted = 'created' | 'same' | 'taken' | 'failed' | 'refused';

function sumOf(minutes: readonly Minute[], name: Counted): number {
  return minutes.reduce((total, minute) => total + minute[name], 0);
}

/** How fast the store grows, by the mean size of all plants. */
interface Rate {
  readonly bytesPerDay: number;
  /** Until the disk has no room for plants, at the same rate; null without a disk of this machine. */
  readonly daysLeft: number | null;
}

/** What the creates of 24 hours have added to the store. */
export interface Growth extends Rate {
  /** Hours without a service do not count for this rate. */
  readonly lastHour: Rate & {
    readonly bytes: number;
    /** Minutes of the last hour in which a service ran. */
    readonly minutes: number;
  };
}

/** In a smaller store, most of the file is not plants. */
const growingPlantsMin = 10_000;

/** What one busy minute after a start has added is no rate for a day. */
const rateMinutesMin = 10;

/** @returns undefined if no plant was created, or the mean size of a plant is not known */
export function growthIn(
  minutes: readonly Minute[],
  { plants, plantsBytes, freeBytes }: Overview['store'],
): Growth | undefined {
  const created = sumOf(minutes, 'created');
  if (created === 0 || plants === null || plants < growingPlantsMin || plantsBytes === undefined)
    return undefined;
  const bytesOf = (createdThen: number) => (createdThen * plantsBytes) / plants;
  const rateOf = (bytesPerDay: number): Rate => {
    const isEndless = freeBytes === undefined || bytesPerDay === 0;
    return { bytesPerDay, daysLeft: isEndless ? null : freeBytes / bytesPerDay };
  };
  const hour = lastHour(minutes);
  const bytes = bytesOf(sumOf(hour, 'created'));
  const perDay = (24 * 60) / Math.max(hour.length, rateMinutesMin);
  return {
    ...rateOf(bytesOf(created)),
    lastHour: { bytes, minutes: hour.length, ...rateOf(bytes * perDay) },
  };
}

/**
 * The higher rate first: `322 MiB in the last hour, 503 MiB in 24 hours; the plants alone
 * fill the disk in 9 days at the rate of the last hour`.
 */
export function growthText({ bytesPerDay, daysLeft, lastHour }: Growth): string {
  const inDay = `${sizeText(bytesPerDay)} in 24 hours`;
  const count = lastHour.minutes;
  const part = `${count} ${count === 1 ? 'minute' : 'minutes'} of `;
  const inHour = `${sizeText(lastHour.bytes)} in ${count < wholeHourMinutesMin ? part : ''}the last hour`;
  if (lastHour.bytesPerDay > bytesPerDay)
    return `${inHour}, ${inDay}${fullText(lastHour.daysLeft, 'the last hour')}`;
  return `${inDay}, ${inHour}${fullText(daysLeft, '24 hours')}`;
}

/** The last minutes of an hour with a service may not be written yet. */
const wholeHourMinutesMin = 58;

const daysNamedMax = 3_650;

function fullText(daysLeft: number | null, span: string): string {
  if (daysLeft === null) return '';
  const at = `at the rate of ${span}`;
  if (daysLeft > daysNamedMax)
    return `; the disk has room for the plants of more than 10 years ${at}`;
  const hours = Math.ceil(24 * daysLeft);
  const inHours = hours > 1 ? `${hours} hours` : 'less than an hour';
  const time = hours > 48 ? `${Math.ceil(daysLeft).toLocaleString('en')} days` : inHours;
  return `; the plants alone fill the disk in ${time} ${at}`;
}

/** Refusals and failures with one error code. */
export interface CodeCount {
  readonly code: number;
  readonly count: number;
}

/** Most first. */
function refusalsByCode(minutes: readonly Minute[]): readonly CodeCount[] {
  const counts = summed(minutes, 'refusals');
  return counts.map(([code, count]) => ({ code: Number(code), count }));
}

/** Refusals of one token or subject. */
export interface SenderCount {
  readonly name: string;
  readonly count: number;
}

/** Most first. */
export function refusedSenders(minutes: readonly Minute[]): readonly SenderCount[] {
  return summed(minutes, 'refusedSenders').map(([name, count]) => ({ name, count }));
}

/** Refusals of one sender with one code. */
export interface SenderRefusals extends CodeCount {
  /** In the last whole minute. */
  readonly lastMinute: number;
  readonly lastHour: number;
  /** Start of the first minute with one, in ms since the epoch. */
  readonly firstMs: number;
}

/** Most first. */
export function refusalsOfSender(
  minutes: readonly Minute[],
  name: string,
): readonly SenderRefusals[] {
  const lastMs = minutes.at(-1)?.atMs ?? 0;
  const byCode = new Map<string, SenderRefusals>();
  for (const { atMs, senderRefusals } of minutes)
    for (const [code, more] of Object.entries(senderRefusals[name] ?? {})) {
      const before = byCode.get(code);
      const { count = 0, lastMinute = 0, lastHour = 0, firstMs = atMs } = before ?? {};
      byCode.set(code, {
        ...{ code: Number(code), count: count + more, firstMs },
        lastMinute: lastMinute + (atMs === lastMs - minuteMs ? more : 0),
        lastHour: lastHour + (atMs > lastMs - hourMs ? more : 0),
      });
    }
  return [...byCode.values()].sort(
    (one, other) => other.count - one.count || one.code - other.code,
  );
}

/** Refusals of one sender with one code. The name is null without a known token. */
export interface SenderCode extends CodeCount {
  readonly name: string | null;
}

/** Most first. Minutes of earlier versions have names without codes, which are left out. */
export function refusalsBySender(minutes: readonly Minute[]): readonly SenderCode[] {
  const ofSenders = [...new Set(minutes.flatMap((one) => Object.keys(one.senderRefusals)))].flatMap(
    (name) => refusalsOfSender(minutes, name).map(({ code, count }) => ({ name, code, count })),
  );
  const anonymous = summed(minutes, 'anonymousRefusals').map(([code, count]) => {
    return { name: null, code: Number(code), count };
  });
  return [...ofSenders, ...anonymous].sort((one, other) => other.count - one.count);
}

/** Codes of failures of a service, and not of a request. */
export function isFailure(code: number): boolean {
  return code >= 50_000;
}

export interface Failures {
  /** Requests, also those that are no creates. */
  readonly requests: number;
  /** Start of the last minute with one, in ms since the epoch. */
  readonly lastMs: number;
  /** The clients, most failures first. */
  readonly names: readonly string[];
}

/** @returns undefined if no request has failed */
export function failuresIn(minutes: readonly Minute[]): Failures | undefined {
  const failures = refusalsBySender(minutes).filter(({ code }) => isFailure(code));
  const last = minutes.findLast(({ refusals }) =>
    Object.keys(refusals).some((code) => isFailure(Number(code))),
  );
  return (
    last && {
      requests: refusalsByCode(minutes)
        .filter(({ code }) => isFailure(code))
        .reduce((sum, { count }) => sum + count, 0),
      lastMs: last.atMs,
      names: [...new Set(failures.flatMap(({ name }) => name ?? []))],
    }
  );
}

/** Most first. */
function summed(
  minutes: readonly Minute[],
  what: 'refusals' | 'refusedSenders' | 'anonymousRefusals',
): [key: string, count: number][] {
  const counts = new Map<string, number>();
  for (const minute of minutes)
    for (const [key, count] of Object.entries(minute[what]))
      counts.set(key, (counts.get(key) ?? 0) + count);
  return [...counts].sort(([, one], [, other]) => other - one);
}

/** Most first: `42900: 4,900, 40000: 100`. */
export function codesText(codes: readonly CodeCount[]): string {
  return codes.map(({ code, count }) => `${code}: ${count.toLocaleString('en')}`).join(', ');
}

/** Most first: `my-app: 4,900, kiosk: 100`. */
export function sendersText(senders: readonly SenderCount[]): string {
  return senders.map(({ name, count }) => `${name}: ${count.toLocaleString('en')}`).join(', ');
}

/** Most first, without requests that have no known token: `my-app 40004: 4,900, kiosk 40001: 100`. */
export function sendersAndCodesText(refusals: readonly SenderCode[]): string {
  return refusals
    .flatMap(({ name, code, count }) =>
      name === null ? [] : [`${name} ${code}: ${count.toLocaleString('en')}`],
    )
    .join(', ');
}

export interface Hour extends HistoryFigures {
  /** Start of the hour, in ms since the epoch. */
  readonly atMs: number;
  /** Minutes of the hour in which a service ran. */
  readonly minutes: number;
  /** Minutes between the first and the last of all hours in which none ran. */
  readonly minutesWithout: number;
  readonly refusals: readonly CodeCount[];
  readonly senders: readonly SenderCount[];
  readonly refusedBy: readonly SenderCode[];
}

/** @param startOf the start of the hour of a moment, which depends on the time zone */
export function hoursOf(
  minutes: readonly Minute[],
  startOf: (atMs: number) => number,
): readonly Hour[] {
  const byHour = Map.groupBy(minutes, ({ atMs }) => startOf(atMs));
  const gaps = gapsIn(minutes);
  return Array.from(byHour, ([atMs, of]) => hourAt(atMs, of, gaps));
}

function hourAt(atMs: number, minutes: readonly Minute[], gaps: readonly Gap[]): Hour {
  const msWithout = gaps.reduce((sum, { fromMs, toMs }) => {
    return sum + Math.max(0, Math.min(toMs, atMs + hourMs) - Math.max(fromMs, atMs));
  }, 0);
  return {
    ...{ atMs, minutes: minutes.length, minutesWithout: msWithout / minuteMs },
    ...historyFigures(minutes),
    refusals: refusalsByCode(minutes),
    senders: refusedSenders(minutes),
    refusedBy: refusalsBySender(minutes),
  };
}

/** With the hours between them in which no service ran, whose `minutes` are 0. */
export function withGaps(hours: readonly Hour[]): readonly Hour[] {
  return hours.flatMap((hour, index) => {
    const fromMs = (hours[index - 1]?.atMs ?? hour.atMs) + hourMs;
    const gaps = Math.max(0, (hour.atMs - fromMs) / hourMs);
    return [
      ...Array.from({ length: gaps }, (_, gap) => withoutService(fromMs + gap * hourMs)),
      hour,
    ];
  });
}

function withoutService(atMs: number): Hour {
  return { ...hourAt(atMs, [], []), minutesWithout: 60 };
}

/** `down`, or `down 12 min`; empty for an hour with a service. */
export function serviceText({ minutesWithout }: Pick<Hour, 'minutesWithout'>): string {
  if (minutesWithout === 0) return '';
  return minutesWithout < 60 ? `down ${minutesWithout} min` : 'down';
}

/** What one service has counted, and all services together. */
export interface Counts extends Tally {
  /** By all services, in the minutes of the history. */
  readonly lastHour: number;
  readonly last24Hours: number;
}

export interface OutcomeRow extends Counts {
  readonly outcome: keyof Overview['creates'];
}

const outcomes = ['created', 'same', 'taken', 'failed'] as const;

/** Creates by outcome. @param ofService what one service has counted since its start */
export function outcomeRows(
  ofService: Overview['creates'],
  minutes: readonly Minute[],
): readonly OutcomeRow[] {
  return outcomes.map((outcome) => ({
    outcome,
    ...countsWith(ofService[outcome], sumOf(lastHour(minutes), outcome), sumOf(minutes, outcome)),
  }));
}

export interface RefusalRow extends Counts {
  readonly code: number;
}

/** By code, in ascending order. @param ofService what one service has counted since its start */
export function refusalRows(
  ofService: Overview['refusals'],
  minutes: readonly Minute[],
): readonly RefusalRow[] {
  const hour = countsOf(lastHour(minutes));
  const day = countsOf(minutes);
  const now = new Map(ofService.map((one) => [one.code, one]));
  const codes = [...new Set([...now.keys(), ...day.keys()])].sort();
  return codes.map((code) => ({
    code,
    ...countsWith(now.get(code) ?? none, hour.get(code) ?? 0, day.get(code) ?? 0),
  }));
}

const none: Tally = { total: 0, lastMinute: 0 };

/** The history is a second later than the tally, and a longer time has no lower count. */
function countsWith({ total, lastMinute }: Tally, inHour: number, inDay: number): Counts {
  const lastHour = Math.max(inHour, lastMinute);
  return { lastMinute, lastHour, last24Hours: Math.max(inDay, lastHour), total };
}

function countsOf(minutes: readonly Minute[]): ReadonlyMap<number, number> {
  return new Map(refusalsByCode(minutes).map(({ code, count }) => [code, count]));
}

/** The last 60 minutes, of which the last one may have just begun. */
function lastHour(minutes: readonly Minute[]): readonly Minute[] {
  const lastMs = minutes.at(-1)?.atMs ?? 0;
  return minutes.filter(({ atMs }) => atMs > lastMs - hourMs);
}

/** The minutes of starts, in ms since the epoch. */
export function startsIn(minutes: readonly Minute[]): readonly number[] {
  return minutes.filter(({ hasStart }) => hasStart).map(({ atMs }) => atMs);
}

/** See `Crash`. */
export const crashText = 'a crash, a kill or a power cut';

/** A time without a service, in ms since the epoch. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Between the first minute and the last, which may have just begun. */
export function gapsIn(minutes: readonly Minute[]): readonly Gap[] {
  return minutes.slice(1).flatMap(({ atMs: toMs }, index) => {
    const fromMs = (minutes[index]?.atMs ?? toMs) + minuteMs;
    // The minute before the last one may not be written yet.
    const isLate = index === minutes.length - 2 && toMs - fromMs === minuteMs;
    return toMs > fromMs && !isLate ? [{ fromMs, toMs }] : [];
  });
}

export function minutesWithoutService(minutes: readonly Minute[]): number {
  return gapsIn(minutes).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0) / minuteMs;
}
