import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Minute } from '../../src/ops/contract.ts';
import {
  failuresIn,
  growthIn,
  growthText,
  hoursOf,
  refusalsOfSender,
  serviceText,
  withGaps,
} from '../../src/ops/history-figures.ts';

const noRefusals = {
  created: 0,
  refusals: {},
  refusedSenders: {},
  senderRefusals: {},
  anonymousRefusals: {},
  p99Ms: null,
} as Partial<Minute> as Minute;
const GiB = 1024 ** 3;
/** A minute each, up to now. */
const minutesWith = (...creates: number[]) =>
  creates.map((created, index) => ({ atMs: (index - creates.length) * 60_000, created }) as Minute);
/** An hour with 9,000 creates, and then one with 1,000. */
const minutes = minutesWith(...Array(60).fill(150), ...Array(50).fill(20), ...Array(10).fill(0));
const places = { location: '', wholeLocation: '', shellLocation: '', promise: null };
const counted = { ...places, plants: 100_000, countedAt: '2026-11-24T12:00:00Z', createdSince: 0 };
const textOf = (store: Parameters<typeof growthIn>[1], of = minutes) => {
  const growth = growthIn(of, store);
  return growth && growthText(growth);
};

test('the growth is told by the mean size of a plant, and at the higher rate how long the disk has room', () => {
  const sized = { ...counted, plantsBytes: 10 * GiB };
  const added = '102 MiB in the last hour, 1 GiB in 24 hours';
  assert.equal(textOf(sized), added);
  const perDay = (24 * GiB) / 10;
  const cases = {
    'plants alone fill the disk in 67 days': 66.3,
    'plants alone fill the disk in 36 hours': 1.5,
    'plants alone fill the disk in less than an hour': 0.01,
    'disk has room for the plants of more than 10 years': 3_651,
  };
  for (const [says, days] of Object.entries(cases))
    assert.equal(
      textOf({ ...sized, freeBytes: days * perDay }),
      `${added}; the ${says} at the rate of the last hour`,
    );
});

test('an hour in which nothing came does not hide the growth of the day', () => {
  const sized = { ...counted, plantsBytes: 10 * GiB, freeBytes: 66.3 * GiB };
  assert.equal(
    textOf(sized, minutesWith(10_000, ...Array(60).fill(0))),
    '1 GiB in 24 hours, 0 B in the last hour; the plants alone fill the disk in 67 days at the rate of 24 hours',
  );
});

test('the rate of the last hour is that of its minutes with a service, and of ten minutes at least', () => {
  const sized = { ...counted, plantsBytes: GiB, freeBytes: GiB };
  const rateOf = (of: readonly Minute[]) => growthIn(of, sized)?.lastHour.bytesPerDay ?? 0;
  const isNear = (one: number, other: number) => Math.abs(one / other - 1) < 1e-9;
  const perMinute = (GiB * 100) / counted.plants;
  assert(isNear(rateOf(minutesWith(...Array(20).fill(100))), perMinute * 1_440));
  assert(isNear(rateOf(minutesWith(...Array(5).fill(100))), (perMinute * 1_440) / 2));
  assert.match(
    textOf(sized, minutesWith(100, 100)) ?? '',
    /^2.05 MiB in 2 minutes of the last hour, /,
  );
});

test('no growth is told without a new plant, before the first count, and of a store that is small', () => {
  const sized = { ...counted, plantsBytes: GiB, freeBytes: GiB };
  assert.equal(growthIn([], sized), undefined);
  assert.equal(textOf({ ...sized, plants: null, countedAt: null }), undefined);
  assert.equal(textOf({ ...sized, plants: 9_999 }), undefined);
  assert.equal(textOf(counted), undefined);
});

const hourMs = 3_600_000;
const startOf = (atMs: number) => Math.floor(atMs / hourMs) * hourMs;

test('an hour tells the minutes without a service, and the hours at both ends only those between minutes', () => {
  const at = (...minutes: number[]) =>
    minutes.map((minute) => ({ ...noRefusals, atMs: minute * 60_000 }));
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  const service = (minutes: Minute[]) => withGaps(hoursOf(minutes, startOf)).map(serviceText);
  assert.deepEqual(service(at(...range(50, 70))), ['', '']);
  assert.deepEqual(service(at(...range(0, 50), ...range(62, 65))), ['down 10 min', 'down 2 min']);
  assert.deepEqual(service(at(59, 180)), ['', 'down', 'down', '']);
});

test('the refusals of a sender are told for the last whole minute and the last hour, too', () => {
  const of = (minute: number, senderRefusals: Minute['senderRefusals']) =>
    ({ atMs: minute * 60_000, senderRefusals }) as Minute;
  const refused = [
    of(0, { kiosk: { 40000: 3 } }),
    of(60, { kiosk: { 40000: 4, 40004: 9 } }),
    of(118, { kiosk: { 40000: 5 } }),
    of(119, { kiosk: { 40000: 6 } }),
  ];
  const [most, least] = refusalsOfSender(refused, 'kiosk');
  assert.deepEqual(most, { code: 40000, count: 18, lastMinute: 5, lastHour: 15, firstMs: 0 });
  assert.deepEqual([least?.lastMinute, least?.lastHour], [0, 9]);
});

test('the refusals of a sender are told by code with their first minute, the code with the most first', () => {
  const of = (atMs: number, senderRefusals: Minute['senderRefusals']) =>
    ({ atMs, senderRefusals }) as Minute;
  const refused = [
    of(0, { kiosk: { 40000: 9 } }),
    of(1, { florist: { 40000: 1 }, kiosk: { 40000: 9 } }),
    of(2, {}),
    of(3, { florist: { 40000: 1, 40004: 5 } }),
  ];
  assert.deepEqual(refusalsOfSender(refused, 'florist'), [
    { code: 40004, count: 5, lastMinute: 0, lastHour: 5, firstMs: 3 },
    { code: 40000, count: 2, lastMinute: 0, lastHour: 2, firstMs: 1 },
  ]);
  assert.deepEqual(refusalsOfSender(refused, 'constructor'), []);
});

test('failures are added up, with their last minute and with their clients, most first', () => {
  const minute = (
    atMs: number,
    refusals: Minute['refusals'],
    senderRefusals: Minute['senderRefusals'] = {},
  ): Minute => ({ ...noRefusals, atMs, refusals, senderRefusals });
  assert.equal(failuresIn([minute(0, { 40004: 3 }, { kiosk: { 40004: 3 } })]), undefined);
  assert.deepEqual(
    failuresIn([
      minute(0, { 50301: 3, 40004: 9 }, { kiosk: { 50301: 1, 40004: 9 }, nursery: { 50301: 2 } }),
      minute(60_000, { 50000: 5 }),
      minute(120_000, { 40004: 1 }),
    ]),
    { requests: 8, lastMs: 60_000, names: ['nursery', 'kiosk'] },
  );
});
