import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { StoreError } from '../../src/store/errors.ts';
import type { Settlement } from '../../src/store/plants.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { queueOn } from '../helpers/commit-queue.ts';
import { storePath } from '../helpers/program.ts';
import { lockStore } from '../helpers/store-file.ts';

/** A queue on a real store, and a lock that holds its transactions up. */
async function openQueue(t: TestContext, bounds?: Parameters<typeof queueOn>[1]) {
  const path = await storePath(t);
  const store = await openSqliteStore(path, { callMs: 10_000, mayMake: true });
  t.after(() => store.close());
  return { store, ...queueOn(store, bounds), lock: () => lockStore(t, path) };
}

async function assertCreated(offers: readonly { readonly settled: Promise<Settlement> }[]) {
  const settlements = await Promise.all(offers.map(({ settled }) => settled));
  assert.deepEqual(new Set(settlements), new Set(['created']));
}

test('while a transaction is under way the next one gathers', async (t) => {
  const { batches, offer, lock } = await openQueue(t);
  const { release } = lock();
  const first = offer(1n);
  await new Promise(setImmediate);
  const rest = [2n, 3n, 4n].map((id) => offer(id));
  await new Promise(setImmediate);
  assert.deepEqual(batches, [1]);
  release();
  await assertCreated([first, ...rest]);
  assert.deepEqual(batches, [1, 3]);
});

test('a client that sends again when it has its reply joins the plants that have gathered', async (t) => {
  const { batches, offer, lock } = await openQueue(t);
  const { release } = lock();
  const first = offer(1n);
  await new Promise(setImmediate);
  const gathered = [offer(2n), offer(3n)];
  release();
  assert.equal(await first.settled, 'created');
  await assertCreated([...gathered, offer(4n)]);
  assert.deepEqual(batches, [1, 3]);
});

test('a plant that is offered during the replies to others never makes a second transaction beside the next one', async (t) => {
  const { batches, offer, nextBatch, lock } = await openQueue(t);
  const offers: ReturnType<typeof offer>[] = [];
  const { promise: hangs, resolve } = Promise.withResolvers<ReturnType<typeof lock>>();
  offer(1n, 50, () => {
    const { release } = lock();
    offers.push(offer(2n));
    nextBatch().then(() => {
      offers.push(offer(3n));
      resolve({ release });
    });
  });
  const { release } = await hangs;
  await new Promise(setImmediate);
  assert.deepEqual(batches, [1, 1]);
  release();
  await assertCreated(offers);
  assert.deepEqual(batches, [1, 1, 1]);
});

test('a transaction that fails by a defect settles its plants with an error', async (t) => {
  const { store } = await openQueue(t);
  const createPlants = () => Promise.reject(new TypeError('thrown by the test'));
  const settlement = await queueOn({ ...store, createPlants }).offer(1n).settled;
  assert(settlement instanceof StoreError && settlement.failure === 'defect');
});

test('where several transactions may be under way, the next one gathers no longer than it should', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { batches, offer, nextBatch, lock } = await openQueue(t, { batchesMax: 2 });
  const { release } = lock();
  const first = offer(1n);
  await nextBatch();
  const rest = [offer(2n)];
  await new Promise(setImmediate);
  rest.push(offer(3n));
  assert.deepEqual(batches, [1]);
  t.mock.timers.tick(limits.store.gatherMs);
  await nextBatch();
  assert.deepEqual(batches, [1, 2]);
  release();
  await assertCreated([first, ...rest]);
});

test('a transaction takes all plants that have gathered, so that none waits for more than two transactions', async (t) => {
  const { batches, offer, lock } = await openQueue(t, { queuePlantsMax: 10_000 });
  const { release } = lock();
  const first = offer(0n);
  await new Promise(setImmediate);
  const rest = Array.from({ length: 4_999 }, (_, index) => offer(BigInt(index + 1)));
  release();
  await assertCreated([first, ...rest]);
  assert.deepEqual(batches, [1, 4_999]);
});

test('an account has at most as much of the queue as is free, and again when its plants have been stored', async (t) => {
  const { offer, lock, store } = await openQueue(t, { queuePlantsMax: 7 });
  const { release } = lock();
  const offers = [0, 0, 0, 0, 1, 1, 2, 2].map((account, id) =>
    offer(BigInt(id), 50, undefined, account),
  );
  const answers = offers.map(({ answer }) => answer);
  const [queued, full] = ['queued', 'full'] as const;
  assert.deepEqual(answers, [queued, queued, queued, full, queued, queued, queued, full]);
  release();
  await assertCreated(offers.filter(({ answer }) => answer === 'queued'));
  assert.equal(await offer(8n).settled, 'created');
  assert.equal(await store.getPlant(3n), undefined);
});

test('waiting plants are bounded in bytes, too', async (t) => {
  const { offer } = await openQueue(t);
  const large = offer(1n, limits.store.queueBytesMax / 2);
  assert.deepEqual([large.answer, offer(2n, 1).answer], ['queued', 'full']);
  assert.equal(await large.settled, 'created');
  assert.equal(await offer(2n, 1).settled, 'created');
});

test('no plant waits longer than its bound, and the queue works again when the store does', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const commitMs = 100;
  const { offer, nextBatch, lock, batches } = await openQueue(t, { commitMs });
  const { release } = lock();
  const first = offer(1n);
  await nextBatch();
  const second = offer(2n);
  t.mock.timers.tick(commitMs);
  for (const { settled } of [first, second]) {
    const settlement = await settled;
    assert(typeof settlement === 'object' && settlement.failure === 'unavailable');
  }
  assert(offer(3n).answer instanceof StoreError);
  release();
  // The stalled transaction ends by itself; from then on the queue takes plants again.
  while (offer(4n).answer instanceof StoreError) await new Promise(setImmediate);
  assert.equal(await offer(1n).settled, 'same');
  assert.equal(await offer(2n).settled, 'created');
  assert(batches.length >= 2);
});
