import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { otherTokens, tabulateTokens } from '../../src/ops/token-figures.ts';

/* The sums over threads: test/create/rate-limit.test.ts. */

/** One report of a thread. */
function counts(id: number, name: string, created: number, limited = 0) {
  const refusals = new Map(limited > 0 ? [['rateLimited', limited] as const] : []);
  return { id, name, created, same: 0, taken: 0, refused: 0, failed: 0, refusals };
}

test('tokens beyond the bound are counted together', () => {
  const table = tabulateTokens();
  const { tokenFiguresMax } = limits.ops;
  for (let id = 1; id <= tokenFiguresMax; id += 1) table.note([counts(id, `t${id}`, 1)], id);
  table.note([counts(5_000, 'late', 1), counts(5_001, 'later', 2), counts(1, 't1', 1)], 9_000);
  assert.equal(table.byId.get(5_000), undefined);
  assert.equal(table.byId.get(1)?.created, 2);
  assert.equal(table.all().find(({ name }) => name === otherTokens)?.created, 3);
});

test('a request with an ended secret is a refusal of its name, and no use of the secret', () => {
  const table = tabulateTokens();
  const ended = (id: number) => ({
    ...counts(id, 'app', 0),
    refusals: new Map([['tokenInvalid', 2] as const]),
  });
  table.note([ended(1), counts(2, 'app', 5)], 10_000);
  table.note([ended(1)], 20_000);
  table.note([counts(3, 'limited', 0, 1)], 30_000);
  assert.equal(table.byId.get(1)?.lastUsedAtMs, 0);
  assert.deepEqual(
    table
      .all()
      .map(({ name, lastUsedAtMs, refusals }) => [
        name,
        lastUsedAtMs,
        refusals.get('tokenInvalid'),
      ]),
    [
      ['app', 10_000, { count: 4, lastAtMs: 20_000 }],
      ['limited', 30_000, undefined],
    ],
  );
});
