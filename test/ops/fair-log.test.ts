import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairLog } from '../../src/ops/fair-log.ts';

/** A log to which the owners have each added so many entries, one owner after the other. */
function logOf(max: number, added: Readonly<Record<string, number>>): FairLog<string> {
  const log = new FairLog<string>(max);
  for (const [owner, count] of Object.entries(added))
    for (let index = 1; index <= count; index += 1) log.add(owner, `${owner}${index}`);
  return log;
}

const textOf = (log: FairLog<string>, after = 0) =>
  log
    .after(after)
    .map(({ entry }) => entry)
    .join(' ');

test('one owner has the whole log, and the oldest entry makes room', () => {
  const log = logOf(3, { a: 5 });
  assert.equal(textOf(log), 'a3 a4 a5');
  assert.equal(log.made, 5);
});

test('an owner takes room from those that have more than an equal share, up to its own share', () => {
  assert.equal(textOf(logOf(6, { a: 6, b: 2 })), 'a3 a4 a5 a6 b1 b2');
  assert.equal(textOf(logOf(6, { a: 6, b: 9 })), 'a4 a5 a6 b7 b8 b9');
  assert.equal(textOf(logOf(6, { a: 6, b: 9, c: 1 })), 'a5 a6 b7 b8 b9 c1');
  assert.equal(textOf(logOf(6, { a: 1, b: 9, c: 1 })), 'a1 b6 b7 b8 b9 c1');
});

test('with more owners than places, each new entry is kept, and the oldest owner is forgotten', () => {
  assert.equal(textOf(logOf(2, { a: 1, b: 1, c: 1 })), 'b1 c1');
  assert.equal(textOf(logOf(2, { a: 1, b: 1, c: 1, a2: 1 })), 'c1 a21');
});

test('the entries after a place are told in their order, with those that never came here counted', () => {
  const log = logOf(4, { a: 2, b: 1 });
  log.skip(10);
  log.add('a', 'a3');
  assert.deepEqual(log.after(2), [
    { place: 3, entry: 'b1' },
    { place: 14, entry: 'a3' },
  ]);
  assert.equal(log.made, 14);
});
