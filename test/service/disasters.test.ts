import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../helpers/program.ts';
import { loseMachines, type Sabotage } from '../torture/disasters.ts';

async function loseThem(t: TestContext, rounds: number, sabotage?: Sabotage) {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`to repeat it: node test/torture/disasters.ts --rounds ${rounds} --seed ${seed}`);
  const folder = await temporaryFolder(t);
  return loseMachines({ folder, rounds, seed, sabotage, report: (line) => t.diagnostic(line) });
}

test('a machine that is lost during any command keeps every plant, and its last good backup', async (t) => {
  const { violations, rounds, acknowledged } = await loseThem(t, 3);
  assert.deepEqual(violations, []);
  assert.equal(
    Object.values(rounds).reduce((sum, count) => sum + count, 0),
    3,
  );
  assert(acknowledged > 0);
});

for (const [sabotage, says] of [
  ['a plant is lost', /the plant 1000 was acknowledged, and the store has undefined/],
  ['a backup is damaged', /\.db (is damaged|differs from its manifest)/],
  ['a record names no backup', /there is no file .*plants-20200101T000000Z\.db to verify/],
] as const) {
  test(`the run sees that ${sabotage}`, async (t) => {
    const { violations } = await loseThem(t, 1, sabotage);
    assert(
      violations.some((what) => says.test(what)),
      violations.join('\n'),
    );
  });
}
