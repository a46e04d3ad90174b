import { after, test } from 'node:test';
import { startPostgres } from '../helpers/postgres.ts';
import { networkFaults } from '../torture/postgres/faults.ts';
import { assertSurvives } from '../torture/postgres/survive.ts';

const database = await startPostgres({ after });

for (const [what, fault] of Object.entries(networkFaults)) {
  test(`when ${what}, creates get 503 in bounded time, soon after they get 200, and nothing is lost`, (t) =>
    assertSurvives(t, database, fault, '--commit-timeout', '2s'));
}
