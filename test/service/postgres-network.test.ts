import { after, test } from 'node:test';
import { startPostgres } from '../helpers/postgres.ts';
import { networkFaults } from '../torture/postgres/faults.ts';
import { assertSurvive, startNodes } from '../torture/postgres/survive.ts';

const nodes = await startNodes({ after }, await startPostgres({ after }), '--commit-timeout', '2s');

for (const [what, fault] of Object.entries(networkFaults)) {
  test(`when ${what}, creates get 503 in bounded time, soon after they get 200, and nothing is lost`, (t) =>
    assertSurvive(t, nodes, fault));
}
