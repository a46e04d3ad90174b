import { after, test } from 'node:test';
import { mounted } from '../helpers/mounts.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { databaseFaults, fillDisk, networkFaults } from '../torture/postgres/faults.ts';
import { assertSurvive, startNodes } from '../torture/postgres/survive.ts';

const nodes = await startNodes({ after }, await startPostgres({ after }), '--commit-timeout', '2s');

/** The long form has the others. */
const tried = [
  'the database is killed',
  'the database stands still',
  'everything between the nodes and the database is lost',
];

for (const [what, fault] of Object.entries({ ...databaseFaults, ...networkFaults })) {
  if (tried.includes(what))
    test(`when ${what}, creates get 503 in bounded time, soon after they get 200, and nothing is lost`, (t) =>
      assertSurvive(t, nodes, fault));
}

test('when the disk of the database is full, creates get 503, soon after they get 200, and nothing is lost', async (t) => {
  const folder = mounted(t, 'size=200m');
  if (folder === undefined) return;
  const database = await startPostgres(t, { max_wal_size: '64MB' }, folder);
  await assertSurvive(t, await startNodes(t, database), fillDisk);
});
