import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { keepCreating } from '../helpers/load.ts';
import { pause } from '../helpers/pause.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import {
  create,
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  token,
} from '../helpers/program.ts';
import { rawRequest } from '../helpers/raw.ts';
import { storedPlants } from '../helpers/store-file.ts';
import { connectCrowd, trickle } from './crowd.ts';
import { letGoodClientsCreate } from './good-clients.ts';
import { scale } from './scale.ts';

const nextRelease = new URL('../helpers/next-release.ts', import.meta.url).href;

/** Between a reply and the next create. Without a pause, the load takes the processor from the starts. */
const between = scale<() => unknown>({ short: pause, long: () => undefined });

const skip = process.platform === 'linux' ? false : 'services share a port only on Linux';

/** Creates plants without a pause until it is stopped. Returns the status of each, or the error. */
function keepTrying(plantsUrl: string, clients: number) {
  const outcomes: { id: number; outcome: number | string }[] = [];
  let isOver = false;
  let nextId = 0;
  const client = async () => {
    while (!isOver) {
      const id = (nextId += 1);
      const outcome = await create(plantsUrl, { id, name: `Alder ${id}` }).then(
        ({ status }) => status,
        (error) => `${error.cause?.code ?? error}`,
      );
      outcomes.push({ id, outcome });
    }
  };
  const done = Promise.all(Array.from({ length: clients }, client));
  return async () => {
    isOver = true;
    await done;
    return outcomes;
  };
}

test('a service takes over from another on the same port and store, and clients under load notice nothing', {
  skip,
  timeout: 600_000,
}, async (t) => {
  const restarts = scale({ short: 2, long: 100 });
  const store = await storePath(t);
  let running: RunningServer = await startServer(t, store);
  const { port } = running;
  const load = keepCreating(running.plantsUrl, scale({ short: 4, long: 32 }), between);

  for (let restart = 0; restart < restarts; restart += 1) {
    const next = await startServer(t, store, ['--port', String(port), '--reuse-port']);
    assert.equal(await running.stop(), 0);
    running = next;
  }
  await load.stop();
  assert.equal(storedPlants(store).length, load.acknowledged.length);
});

test('a later release takes over from the nodes of a database one by one, nodes of the release before start beside it, and clients under load notice nothing', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  const database = await startPostgres(t);
  const later = { NODE_OPTIONS: `--import=${nextRelease}`, PLANT_STORE_TOKEN: token };
  for (let upgrade = 0; upgrade < scale({ short: 1, long: 100 }); upgrade += 1) {
    const url = await database.makeDatabase();
    const first = await startServer(t, url, ['--reuse-port', ...oneThread]);
    const samePort = ['--port', `${first.port}`, '--reuse-port', ...oneThread];
    let running = [first, await startServer(t, url, samePort)];
    const load = keepCreating(first.plantsUrl, scale({ short: 4, long: 16 }), between);

    for (const variables of [later, later, undefined, later]) {
      const next = await startServer(t, url, samePort, variables);
      const [oldest, ...others] = running;
      assert.equal(await oldest?.stop(), 0);
      running = [...others, next];
    }
    await load.stop();
    for (const node of running) assert.equal(await node.stop(), 0);
    assert.deepEqual(
      await database.query(
        `SELECT count(*) AS plants, count(note) AS notes, (SELECT array_agg(schema_version ORDER BY id)
          FROM plant_store) AS versions FROM plants`,
        nameOfDatabase(url),
      ),
      [{ plants: `${load.acknowledged.length}`, notes: '0', versions: ['1', '12'] }],
    );
  }
});

test('a service that stops among slow clients and load ends within its drain limit with exit code 0', {
  skip,
}, async (t) => {
  const store = await storePath(t);
  const drainMs = 8_000;
  // Clients have longer for one more request than a busy machine lets them stand still, and only
  // the drain limit ends a slow one.
  const http = { drainIdleMs: 6_000, requestMs: 3_600_000 };
  const server = await startServer(t, store, [], withLimits({ service: { drainMs }, http }));
  const { port } = server;
  const slow = await connectCrowd(t, port, scale({ short: 50, long: 1_000 }));
  for (const { socket } of slow)
    socket.write(rawRequest('', { fields: { 'Content-Length': '10000' } }));
  trickle(t, slow, Buffer.alloc(10_000, ' '), 50);
  const idle = await connectCrowd(t, port, scale({ short: 50, long: 5_000 }));
  const stopUsers = keepTrying(server.plantsUrl, 16);
  await letGoodClientsCreate(server, { connections: 4, measureMs: 100 });

  const start = performance.now();
  const code = await server.stop();
  const tookMs = performance.now() - start;
  const outcomes = await stopUsers();
  await Promise.all([...slow, ...idle].map(({ gone }) => gone));

  assert.equal(code, 0);
  // The slow requests would take longer.
  assert(tookMs < drainMs + 60_000, `it took ${tookMs} ms`);
  // Until the signal, each create was answered. After the signal, each open connection served one
  // more, and no connection was accepted.
  const answered = outcomes.filter(({ outcome }) => outcome === 200);
  const others = new Set(
    outcomes.filter(({ outcome }) => outcome !== 200).map(({ outcome }) => outcome),
  );
  assert.deepEqual([...others], ['ECONNREFUSED']);
  const stored = new Set(storedPlants(store).map(([id]) => Number(id)));
  for (const { id } of answered)
    assert(stored.has(id), `plant ${id} was answered and is not stored`);
});
