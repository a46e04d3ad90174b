import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIdSource, newId } from '../src/index.ts';

const idsOf = (source: () => bigint, count: number) => Array.from({ length: count }, source);
const ascend = (ids: readonly bigint[]) => ids.every((id, index) => id > (ids[index - 1] ?? 0n));

const bits = (id = 0n) => ({
  ms: Number(id >> 22n) + Date.UTC(2024),
  machine: Number((id >> 12n) & 1_023n),
  counter: Number(id & 4_095n),
});

test('new ids are positive, ascend, and begin with the time', () => {
  const before = Date.now();
  const ids = idsOf(newId, 50_000);
  assert(ascend(ids));
  assert(bits(ids[0]).ms >= before);
});

test('ids ascend when the clock stands still or goes back, beyond the 4,096 of a millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030) });
  const source = createIdSource(1_023);
  const ids = idsOf(source, 10_000);
  t.mock.timers.setTime(Date.UTC(2029));
  ids.push(...idsOf(source, 10_000));
  assert(ascend(ids));
  assert.deepEqual(bits(ids[0]), { ms: Date.UTC(2030), machine: 1_023, counter: 0 });
  assert.equal(bits(ids.at(-1)).ms, Date.UTC(2030) + 4);
});

test('sources with numbers of their own never make the same id, also before 2024 and until 2093', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  for (const now of [0, Date.UTC(2030), Date.UTC(2093)]) {
    t.mock.timers.setTime(now);
    const ids = [0, 1, 512, 1_023].flatMap((machine) => idsOf(createIdSource(machine), 5_000));
    assert.equal(new Set(ids).size, 20_000);
    assert(ids.every((id) => id >= 0n && id < 2n ** 63n));
  }
});

test('sources without a number start at a random point of each millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030) });
  const ids = idsOf(() => createIdSource()(), 20);
  assert(new Set(ids).size >= 19, `${ids}`);
});

test('a wrong machine number is an error', () => {
  for (const machine of [-1, 1_024, 0.5])
    assert.throws(() => createIdSource(machine), { name: 'InvalidInputError' });
});
