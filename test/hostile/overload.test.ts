import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { until } from '../helpers/pause.ts';
import { oneThread, startServer, storePath } from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { connectCrowd, untilAnswered } from './crowd.ts';
import { scale } from './scale.ts';

/** A token has half of the queue. */
const plantsMax = 100;
const store = await storePath({ after });
const bearers = ['wrong', await storedToken(store, 'watcher', { role: 'operate' })];
const { port } = await startServer(
  { after },
  store,
  [...oneThread, '--commit-timeout', '60s'],
  withLimits({
    store: { queuePlantsMax: 2 * plantsMax },
    access: { refusalsAtOnce: 1, refusalDelayMs: 3_600_000 },
  }),
);
const plant = (id: number) => rawRequest(`{"id":${id},"name":"Alder ${id}"}`);

test('offered five times what it can take, it stores all that may wait whenever the disk is free, and refuses the rest', async (t) => {
  const crowd = await connectCrowd(t, port, 5 * plantsMax);
  const count = { sent: 0, created: 0, refused: 0 };
  let isOver = false;
  for (const { socket } of crowd) {
    const send = () => socket.write(plant((count.sent += 1)));
    socket.on('data', (reply: string) => {
      if (reply.startsWith('HTTP/1.1 200 ')) count.created += 1;
      else if (reply.includes('"error":50300')) count.refused += 1;
      // Whatever comes back, there is the next create.
      if (!isOver) send();
    });
    send();
  }
  const reaches = (what: keyof typeof count, least: number) =>
    until(
      async () => count[what],
      (found) => found >= least,
    );

  for (let turn = 0; turn < scale({ short: 3, long: 200 }); turn += 1) {
    const lock = lockStore(t, store);
    // One of these was sent under the lock, and so the queue is full.
    await reaches('refused', count.refused + crowd.length + 1);
    const { created } = count;
    lock.release();
    await reaches('created', created + plantsMax);
  }
  isOver = true;
  await until(
    async () => count.created + count.refused,
    (answered) => answered === count.sent,
  );
  assert.equal(storedPlants(store).length, count.created);
});

test('a flood of tokens that may create nothing waits, and a valid token beside it does not', async (t) => {
  const flood = await connectCrowd(t, port, bearers.length);
  for (const [index, { socket }] of flood.entries()) {
    const fields = { Authorization: `Bearer ${bearers[index]}` };
    socket.write(Buffer.concat(Array.from({ length: 60 }, () => rawRequest('{}', { fields }))));
  }
  // Its reply may come after that to the valid token.
  const oneAtOnce = Promise.race(flood.map(untilAnswered));
  const good = await connectRaw(t, port);
  good.send(plant(1));
  assert.equal((await good.reply()).status, 200);
  await oneAtOnce;
  const refused = flood.map(({ received }) => received().split('HTTP/1.1 40').length - 1);
  // One at once, and another in each second that has passed on a busy machine.
  assert(Math.max(...refused) < 30, `${refused}`);
  assert(Math.max(...refused) > 0);
});
