import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLimits } from '../helpers/faults.ts';
import { oneThread, startServer, storePath } from '../helpers/program.ts';
import { rawRequest } from '../helpers/raw.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { connectCrowd } from './crowd.ts';
import { scale } from './scale.ts';

const plant = (id: number) => rawRequest(`{"id":${id},"name":"Alder ${id}"}`);

/**
 * A disk that is busy four fifths of the time, so that what the store can take in a second is
 * known: the queue, ten times.
 */
async function slowDisk(t: TestContext, store: string, until: Promise<unknown>): Promise<void> {
  let over = false;
  void until.then(() => (over = true));
  while (!over) {
    const lock = lockStore(t, store);
    await sleep(80);
    lock.release();
    await sleep(20);
  }
}

/**
 * Sends `perSecond` creates each second on 50 connections, whatever comes back, and counts what
 * does.
 */
async function offer(
  t: TestContext,
  server: { readonly port: number; readonly store: string },
  perSecond: number,
  seconds: number,
) {
  const crowd = await connectCrowd(t, server.port, 50);
  const offered = Math.round(perSecond * seconds);
  let id = Math.floor(Math.random() * 2 ** 40);
  const tick = 10;
  const send = async () => {
    const startedAt = performance.now();
    for (let sent = 0; sent < offered; ) {
      const due = Math.min(
        offered,
        Math.floor(((performance.now() - startedAt) / 1_000) * perSecond),
      );
      for (; sent < due; sent += 1) crowd[sent % crowd.length]?.socket.write(plant((id += 1)));
      await sleep(tick);
    }
    return (performance.now() - startedAt) / 1_000;
  };
  const sending = send();
  await slowDisk(t, server.store, sending);
  const tookSeconds = await sending;
  // What is still under way is answered, too.
  const count = (pattern: RegExp) =>
    crowd.reduce((sum, { received }) => sum + (received().match(pattern)?.length ?? 0), 0);
  while (count(/HTTP\/1.1 /g) < offered) await sleep(tick);
  const created = count(/HTTP\/1.1 200 /g);
  return {
    offered,
    created,
    overloaded: count(/"error":50300/g),
    perSecond: created / tookSeconds,
  };
}

test('offered five times what it can commit, it stores as much as at its peak and refuses the rest', async (t) => {
  const store = await storePath(t);
  const short = withLimits({ store: { queuePlantsMax: 100 } });
  const server = { ...(await startServer(t, store, oneThread, short)), store };
  const seconds = scale({ short: 1, long: 10 });
  // The first is already more than it can commit.
  const peak = await offer(t, server, 2_000, seconds);
  const over = await offer(t, server, 5 * peak.perSecond, seconds);

  assert.equal(over.created + over.overloaded, over.offered);
  assert(over.overloaded > 0);
  assert.equal(storedPlants(server.store).length, peak.created + over.created);
});
