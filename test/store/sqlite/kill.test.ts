import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  create,
  oneThread,
  startProgram,
  startServer,
  temporaryFolder,
} from '../../helpers/program.ts';
import { killAgainAndAgain } from '../../torture/kill.ts';

test('a loaded server that is killed 6 times at random moments keeps every plant that it has acknowledged', async (t) => {
  const folder = await temporaryFolder(t);
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`to repeat it: node test/torture/kill.ts --cycles 6 --connections 8 --seed ${seed}`);

  const { violations, counts, kills } = await killAgainAndAgain({
    folder,
    cycles: 6,
    seed,
    connections: 8,
    lives: 0.3,
    checkEvery: 10,
    requestsMax: 1_000,
    report: (line) => t.diagnostic(line),
  });

  assert.deepEqual(violations, [], `seed ${seed}`);
  const killed = Object.values(kills).reduce((sum, count) => sum + count);
  assert.equal(killed, 6);
  // The run is worth something only if all of this has happened in it.
  for (const [what, count] of Object.entries(counts))
    assert(count > 0, `${what}: ${JSON.stringify(counts)}`);
});

for (const changes of [1, 4]) {
  test(`a server killed at its very first start, at change ${changes} of a file, starts on what is left and its first token is admitted`, async (t) => {
    const folder = join(await temporaryFolder(t), 'store');
    mkdirSync(folder);
    const store = join(folder, 'plants.db');
    const args = ['--port', '0', '--ops-port', '0', ...oneThread, '--store', `sqlite:${store}`];
    const child = startProgram(['serve', ...args]);
    let left = changes;
    const watcher = watch(folder, () => {
      left -= 1;
      if (left === 0) child.kill('SIGKILL');
    });
    // A start with fewer changes than that is killed when it is ready.
    child.stderr.on('data', () => child.kill('SIGKILL'));
    await once(child, 'exit');
    watcher.close();
    assert.equal(child.signalCode, 'SIGKILL');
    assert(readdirSync(folder).length > 0, 'it was killed before it had begun');

    const { plantsUrl } = await startServer(t, store, oneThread, {});

    const token = readFileSync(join(folder, 'first-start.token'), 'utf8').trim();
    const reply = await create(
      plantsUrl,
      { id: 1, name: 'Alder' },
      { Authorization: `Bearer ${token}` },
    );
    assert.equal(reply.status, 200, await reply.text());
  });
}
