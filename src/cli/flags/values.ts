import { isSafeUrl } from '../../hosts.ts';
import { limits } from '../../limits.ts';
import { dayMs, hourMs, unitsPerDay } from '../../quantity-text.ts';
import type { Rate } from '../../store/tables/tokens.ts';

/** A mistake on the command line or in the environment. The message says what and the way out. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An empty text is what a shell makes of a variable that is not set. */
export function text(value: string): string {
  if (value === '') throw new UsageError('needs a value');
  return value;
}

export function onOff(value: string): boolean {
  return oneOf(['true', 'false'])(value) === 'true';
}

export function oneOf<T extends string>(choices: readonly T[]): (value: string) => T {
  return (value) => {
    const choice = choices.find((known) => known === value);
    if (choice === undefined) throw new UsageError(`must be one of ${choices.join(', ')}`);
    return choice;
  };
}

export function integer(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new UsageError(`must be a whole number from ${min} to ${max}`);
  };
}

export function orWord<W extends string, T>(
  word: W,
  parse: (value: string) => T,
): (value: string) => T | W {
  const named = naming(word, parse);
  return (value) => (value === word ? word : named(value));
}

/** The error names the word, which `parse` does not know. */
function naming<T>(word: string, parse: (value: string) => T): (value: string) => T {
  return (value) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const says = error.message.replace(/^must be/, `must be ${word}, or`);
      throw new UsageError(says, { cause: error });
    }
  };
}

/** Values with commas between them, and with or without blanks. */
function list(value: string): string[] {
  return value.split(',').map((one) => one.trim());
}

/** Host names as in a URL, without ports, in lower case. */
export function hostNames(value: string): readonly string[] {
  const names = list(value.toLowerCase());
  if (names.every((name) => /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(name))) return names;
  throw new UsageError(
    'must be host names with commas between them, without ports, such as ops.example.org,ops',
  );
}

/** The title of the column for a member of a plant: `id=Nr`. */
export function columnTitle(value: string): readonly [field: string, title: string] {
  const [, field, title] = /^(id|name|tag)=(.*\S.*)$/.exec(value) ?? [];
  if (field !== undefined && title !== undefined) return [field, title];
  throw new UsageError('must be id=COLUMN, name=COLUMN or tag=COLUMN');
}

/** URLs of issuers, exactly as tokens name them (RFC 8414 §2), with commas between them. */
export function issuers(value: string): readonly string[] {
  const all = [...new Set(list(value))];
  for (const text of all) {
    const url = URL.parse(text);
    if (url === null || !isSafeUrl(url) || /[?#@\s]/.test(text))
      throw new UsageError(
        'must be URLs that start with https:// (or http://localhost), with commas between them',
      );
  }
  return all;
}

/**
 * Origins (RFC 6454 §6.2) as browsers write them, with commas between them, or `*` for all. Apps
 * have schemes of their own, such as capacitor://localhost.
 */
export function origins(value: string): readonly string[] {
  if (value === '*') return [value];
  return list(value).map((text) => {
    const url = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@*\s]+$/i.test(text) ? URL.parse(text) : null;
    if (url !== null) return url.origin === 'null' ? text.toLowerCase() : url.origin;
    throw new UsageError(
      'must be origins without a path, with commas between them, such as ' +
        'https://app.example.org,http://localhost:3000; or * for all',
    );
  });
}

/** The base URL of a collector. @returns where the collector takes traces */
export function otlpEndpoint(value: string): string {
  const url = URL.parse(value);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  const base = value.replace(/\/+$/, '');
  if (isHttp && !/[?#@\s]/.test(value) && !base.endsWith('/v1/traces')) return `${base}/v1/traces`;
  throw new UsageError(
    'must be the base URL of a collector, such as http://localhost:4318, to which ' +
      '/v1/traces is added',
  );
}

export function scopeToken(value: string): string {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)) return value;
  throw new UsageError('must be one scope without spaces, such as plants:create');
}

/** `100/s:500`; or `100/s`, `60/m`, `1000/h` or `10/d`, with a burst of the number. */
export function rate(value: string): Rate {
  const [, count, unit, burst = count] =
    /^([1-9][0-9]{0,7})\/([smhd])(?::([1-9][0-9]{0,8}))?$/.exec(value) ?? [];
  if (count !== undefined && Number(burst) <= limits.access.burstMax)
    return {
      perDay: Number(count) * unitsPerDay[unit as keyof typeof unitsPerDay],
      burst: Number(burst),
    };
  throw new UsageError(
    'must be a number of creates in a time, such as 100/s, 60/m, 1000/h or 10/d, and may end ' +
      `with a burst from 1 to ${limits.access.burstMax}, such as 100/s:500`,
  );
}

const unitsMs = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: hourMs,
  d: dayMs,
  w: 7 * dayMs,
  y: 365 * dayMs,
} as const;
export const durationMsMax = 100 * 365 * unitsMs.d;

/**
 * `500ms`, `30s`, `15m`, `12h`, `90d`, `4w` or `1y`, in milliseconds.
 *
 * @param msMax at most 24 days for a timer of Node, which ends a longer one at once
 */
export function duration(msMax: number): (value: string) => number {
  return (value) => {
    const ms = timeOf(value);
    if (ms > 0 && ms <= msMax) return ms;
    throw new UsageError(
      `must be a time such as 500ms, 30s, 15m, 12h or 1d, and at most ${msMax / dayMs}d`,
    );
  };
}

export function orZero(parse: (value: string) => number): (value: string) => number {
  const named = naming('0', parse);
  return (value) => (/^0(ms|s|m|h|d|w|y)?$/.test(value) ? 0 : named(value));
}

/** A time before now: how long ago, or when, since the epoch. In milliseconds. */
export type PastTime = { readonly agoMs: number } | { readonly atMs: number };

/** `7d` (ago), `2026-11-24` (its first moment), or ISO 8601: local without a zone. */
export function pastTime(value: string): PastTime {
  const agoMs = timeOf(value);
  if (agoMs > 0) return { agoMs };
  const [, date, time = 'T00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(value) ??
    [];
  const atMs = Date.parse(`${date}${time}${zone}`);
  // JavaScript takes 30 February for 2 March.
  if (!Number.isNaN(atMs) && new Date(`${date}T00:00Z`).getUTCDate() === Number(date?.slice(8)))
    return { atMs };
  throw new UsageError(
    'must be a time span such as 1h or 7d, or a time such as 2026-11-24, 2026-11-24T02:00 ' +
      '(local) or 2026-11-24T02:00Z (UTC)',
  );
}

export function timeBefore(time: PastTime, nowMs: number): number {
  return 'atMs' in time ? time.atMs : nowMs - time.agoMs;
}

/** @returns 0 for any other text, and for a time that is too long */
function timeOf(value: string): number {
  const [, count, unit] = /^([0-9]{1,12})(ms|s|m|h|d|w|y)$/.exec(value) ?? [];
  const ms = Number(count) * unitsMs[unit as keyof typeof unitsMs];
  return ms <= durationMsMax ? ms : 0;
}

/** Which backups to keep: by each rule, one for each interval within a time span. */
export type Retention = readonly {
  readonly withinMs: number;
  readonly everyMs: number;
  /** As it was typed. */
  readonly text: string;
}[];

/** `24h:1h,30d:1d` */
export function retention(value: string): Retention {
  return list(value).map((text) => {
    const [withinMs = 0, everyMs = 0] = /^[^:]+:[^:]+$/.test(text)
      ? text.split(':').map(timeOf)
      : [];
    if (everyMs > 0 && everyMs <= withinMs) return { withinMs, everyMs, text };
    throw new UsageError(
      'must be time spans with an interval each: 24h:1h,30d:1d,1y:1w keeps one backup an hour for ' +
        '24 hours, one a day for 30 days, and one a week for a year',
    );
  });
}

export function retentionText(rules: Retention): string {
  return rules.map(({ text }) => text).join();
}

/** Without a slash at the end: `/plants` follows. */
export function basePath(value: string): string {
  if (!/^(?:\/[A-Za-z0-9\-._~]+)*\/?$/.test(value) || !value.startsWith('/')) {
    throw new UsageError('must be a path such as / or /garden/v1');
  }
  return value.replace(/\/$/, '');
}
