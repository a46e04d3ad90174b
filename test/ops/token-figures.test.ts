import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { tabulateTokens } from '../../src/ops/token-figures.ts';
import { otherTokens } from '../../src/store/tokens.ts';

/** One report of a thread. */
function counts(id: number, name: string, created: number, limited = 0) {
  const refusals = new Map(limited > 0 ? [['rateLimited', limited] as const] : []);
  return { id, name, created, same: 0, taken: 0, failed: 0, refusals };
}

test('tokens beyond the bound are counted together, and a token without use for a day makes room', () => {
  const table = tabulateTokens();
  const { tokenFiguresMax, tokenFiguresIdleMs } = limits.ops;
  for (let id = 1; id <= tokenFiguresMax; id += 1) table.note([counts(id, `t${id}`, 1)], id);
  table.note([counts(5_000, 'late', 1), counts(5_001, 'later', 2)], 9_000);
  assert.equal(table.byId.get(5_000), undefined);
  const others = () => table.all().find(({ name }) => name === otherTokens)?.created;
  assert.equal(others(), 3);

  table.note([counts(1, 't1', 1)], 9_000);
  table.note([counts(5_002, 'tomorrow', 1)], 2 + tokenFiguresIdleMs);
  assert.equal(table.byId.get(5_002)?.created, 1);
  assert.deepEqual([table.byId.get(1)?.created, table.byId.get(2), others()], [2, undefined, 4]);
  assert.equal(
    table.all().reduce((sum, { created }) => sum + created, 0),
    tokenFiguresMax + 5,
  );
});
