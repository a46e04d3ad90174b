import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { int64Max, int64Min } from '../../src/contract/int64.ts';
import { pagesByIdRange } from '../../src/store/postgres/id-ranges.ts';

const plantsInPage = 3;

/** Goes through plants with these ids, which are in ascending order. */
async function goThrough(ids: readonly bigint[]) {
  const [first, last] = [ids[0], ids.at(-1)];
  const ends = first === undefined || last === undefined ? undefined : { first, last };
  let queries = 0;
  const pages = await Array.fromAsync(
    pagesByIdRange(ends, async ({ after, upTo }) => {
      queries += 1;
      assert(upTo <= int64Max && (after === undefined || after >= int64Min));
      const inRange = ids.filter((id) => (after === undefined || id > after) && id <= upTo);
      const plants = inRange.slice(0, plantsInPage).map((id) => ({ id }));
      return { plants, isLast: inRange.length === plants.length };
    }),
  );
  return { found: pages.flatMap((page) => page.map(({ id }) => id)), queries };
}

test('whatever the ids are, each comes once and in order', async () => {
  const ends = fc.constantFrom(int64Min, int64Max, int64Min + 1n, int64Max - 1n, 0n, -1n);
  const id = fc.oneof(
    fc.bigInt({ min: int64Min, max: int64Max }),
    fc.bigInt({ min: -50n, max: 50n }),
    ends,
  );
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(id, { maxLength: 60 }), async (some) => {
      const ids = some.toSorted((a, b) => (a < b ? -1 : 1));
      assert.deepEqual((await goThrough(ids)).found, ids);
    }),
  );
});

test('gaps are passed in few steps, and pages are mostly full', async () => {
  const run = (first: bigint, step: bigint) =>
    Array.from({ length: 300 }, (_, index) => first + BigInt(index) * step);
  for (const ids of [run(0n, 1n), run(int64Min, 61n * 10n ** 15n), run(-1n, 7n)]) {
    const { queries } = await goThrough(ids);
    assert(queries < 250, `${queries} queries for 100 pages`);
  }
  const { found, queries } = await goThrough([int64Min, 0n, 1n, int64Max]);
  assert.equal(found.length, 4);
  assert(queries < 130, `${queries} queries`);
});
