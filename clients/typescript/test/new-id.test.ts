import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIdSource, newId } from '../src/index.ts';

const idsOf = (source: () => bigint, count: number) => Array.from({ length: count }, source);

const bits = (id: bigint) => ({
  ms: Number(id >> 22n) + Date.UTC(2024),
  machine: Number((id >> 12n) & 1_023n),
  counter: Number(id & 4_095n),
});

test('new ids are positive, ascend, and begin with the time', () => {
  const before = Date.now();
  const ids = idsOf(newId, 50_000);
  assert(ids.every((id, index) => id > (ids[index - 1] ?? 0n) && id < 2n ** 63n));
  assert(bits(ids[0] as bigint).ms >= before);
});

test('ids ascend when the clock stands still or goes back, beyond the 4,096 of a millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030) });
  const source = createIdSource(1_023);
  const ids = idsOf(source, 10_000);
  t.mock.timers.setTime(Date.UTC(2029));
  ids.push(...idsOf(source, 10_000));
  assert(ids.every((id, index) => id > (ids[index - 1] ?? 0n)));
  assert.deepEqual(bits(ids[0] as bigint), { ms: Date.UTC(2030), machine: 1_023, counter: 0 });
  assert.equal(bits(ids.at(-1) as bigint).ms, Date.UTC(2030) + 4);
});

test('sources with numbers of their own never make the same id', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030) });
  const ids = [0, 1, 512, 1_023].flatMap((machine) => idsOf(createIdSource(machine), 5_000));
  assert.equal(new Set(ids).size, 20_000);
});

test('sources without a number start at a random point of each millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030) });
  const ids = idsOf(() => createIdSource()(), 20);
  assert(new Set(ids).size >= 19, `${ids}`);
});

test('ids last until 2093', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2093) });
  assert(createIdSource(1_023)() < 2n ** 63n);
});

test('a wrong machine number is an error', () => {
  for (const machine of [-1, 1_024, 0.5])
    assert.throws(() => createIdSource(machine), { name: 'InvalidInputError' });
});

test('ids of a clock before 2024 are of their machine, too', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  const ids = [5, 6].flatMap((machine) => idsOf(createIdSource(machine), 3));
  assert.equal(new Set(ids).size, 6);
  assert.deepEqual(
    ids.map((id) => bits(id).machine),
    [5, 5, 5, 6, 6, 6],
  );
});
