import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { oneThread, token } from '../../../test/helpers/program.ts';
import { shareServer } from '../../../test/helpers/shared-server.ts';
import { storedPlants } from '../../../test/helpers/store-file.ts';
import {
  type ClientOptions,
  type CreateResult,
  type CreateTotals,
  createClient,
  type NewPlant,
} from '../src/index.ts';

const shared = await shareServer(oneThread);

/** A client of a service without plants. */
function sharedStore(options: Partial<ClientOptions> = {}) {
  const { plantsUrl, store } = shared();
  const client = createClient({ url: new URL('.', plantsUrl), token, ...options });
  return { ...client, ids: () => storedPlants(store).map(([id]) => Number(id)) };
}

function* numbered(count: number): Generator<NewPlant> {
  for (let id = 1; id <= count; id += 1) yield { id, name: `Plant ${id}` };
}

/** Plants 1 to 9, of which the fifth is refused. */
const oneRefused: readonly NewPlant[] = [...numbered(9)].map((plant) =>
  plant.id === 5 ? { ...plant, name: 'a\0b' } : plant,
);

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('many plants are stored, and the results come in the order of the plants', async () => {
  const { createPlants, ids } = sharedStore();
  const seen: [CreateResult, CreateTotals][] = [];
  const totals = await createPlants(numbered(150), {
    concurrency: 64,
    onResult: (result, soFar) => void seen.push([result, soFar]),
  });
  assert.deepEqual(totals, { stored: 150, refused: 0, unknown: 0 });
  assert.deepEqual(ids(), upTo(150));
  assert.deepEqual(
    seen.map(([{ plant }, { stored }]) => [plant.id, stored]),
    upTo(150).map((id) => [id, id]),
  );
});

test('an iterable is read no faster than its plants are stored and their results taken', async () => {
  const { createPlants } = sharedStore();
  let read = 0;
  let taken = 0;
  let aheadMax = 0;
  async function* counted() {
    for (const plant of numbered(80)) {
      read += 1;
      aheadMax = Math.max(aheadMax, read - taken);
      yield plant;
    }
  }
  await createPlants(counted(), {
    concurrency: 4,
    async onResult() {
      await setImmediate();
      taken += 1;
    },
  });
  assert.equal(taken, 80);
  assert(aheadMax >= 4 && aheadMax <= 8 * 4 + 1, `${aheadMax} plants ahead`);
});

test('a refused plant stops the run, closes the iterable, and every plant that was begun has its result', async () => {
  const { createPlants, ids } = sharedStore();
  let isClosed = false;
  function* closing() {
    try {
      yield* oneRefused;
    } finally {
      isClosed = true;
    }
  }
  const results: CreateResult[] = [];
  await assert.rejects(
    createPlants(closing(), { concurrency: 2, onResult: (result) => void results.push(result) }),
    { name: 'RefusedError', code: 40003 },
  );
  assert.equal(results[4]?.outcome, 'refused');
  const stored = results.flatMap(({ outcome, plant }) => (outcome === 'stored' ? plant.id : []));
  assert.deepEqual(stored, ids());
  assert(results.length < oneRefused.length, `${results.length} plants were begun`);
  assert(isClosed);
});

test('a run goes on after a plant that is refused, rounded or cannot be read, when it is asked to', async () => {
  const { createPlants, ids } = sharedStore();
  const broken = {
    get id(): bigint {
      throw new Error('the row is gone');
    },
    name: '',
  };
  const wrong = [{ id: 2 ** 53, name: 'a rounded id' }, broken, null];
  const plants = [...wrong, ...oneRefused, Promise.resolve({ id: 10, name: 'a promise' })];
  const totals = await createPlants(plants as never, { onRefusal: 'continue' });
  assert.deepEqual(totals, { stored: 9, refused: 4, unknown: 0 });
  assert.deepEqual(ids(), [1, 2, 3, 4, 6, 7, 8, 9, 10]);
});

test('a refusal that is not about the plant stops each run, such as the 400 of a proxy', async () => {
  const proxy = async () => new Response('<h1>HTTPS port</h1>', { status: 400 });
  const refused = [
    { options: { token: 'not-a-token' }, error: { name: 'RefusedError', code: 40101 } },
    { options: { fetch: proxy }, error: { name: 'RefusedError', status: 400 } },
  ];
  for (const { options, error } of refused) {
    const { createPlants } = sharedStore(options);
    let begun = 0;
    const onResult = () => void (begun += 1);
    const run = createPlants(numbered(1_000), { concurrency: 2, onRefusal: 'continue', onResult });
    await assert.rejects(run, error);
    assert(begun <= 4, `${begun} plants were begun`);
  }
});

test('a failure of the iterable or of the callback ends the run, after the plants that were begun', async () => {
  const { createPlants, ids } = sharedStore();
  function* failing() {
    yield* numbered(3);
    throw new Error('the file is torn');
  }
  await assert.rejects(createPlants(failing()), /the file is torn/);
  assert.deepEqual(ids(), [1, 2, 3]);

  let calls = 0;
  const onResult = () => {
    calls += 1;
    throw new Error('the disk of the journal is full');
  };
  await assert.rejects(createPlants(numbered(100), { onResult }), /journal is full/);
  assert.equal(calls, 1);
});

test('the signal ends a run, also while the iterable has no plant', async () => {
  const { createPlants, ids } = sharedStore();
  const stop = new AbortController();
  let isClosed = false;
  async function* stalling() {
    try {
      yield* numbered(2);
      await setImmediate();
      yield { id: 3, name: 'the last for a long time' };
      await new Promise(() => undefined);
    } finally {
      isClosed = true;
    }
  }
  const run = createPlants(stalling(), {
    signal: stop.signal,
    onResult: ({ plant }) => plant.id === 3 && stop.abort(),
  });
  await assert.rejects(run, {
    name: 'GaveUpError',
    message: 'the run was aborted; 3 plants are stored, 0 may be',
    isUnknown: false,
  });
  assert.deepEqual(ids(), [1, 2, 3]);
  assert.equal(isClosed, false, 'a generator that waits cannot be closed');
});

test('a wrong option is an error at once, and not for each plant', async () => {
  const { createPlants } = sharedStore();
  const wrong = [
    ...[0, 1.5, Number.POSITIVE_INFINITY].map((concurrency) => ({ concurrency })),
    ...[{ timeout: -1 }, { traceparent: 'x' }],
  ];
  for (const options of wrong)
    await assert.rejects(createPlants(numbered(2), { onRefusal: 'continue', ...options }), {
      name: 'InvalidInputError',
    });
});

test('what is no iterable of plants is an error', async () => {
  const { createPlants } = sharedStore();
  const garbage = { [Symbol.iterator]: () => ({ next: () => undefined }) };
  for (const plants of [5, undefined, { id: 1n, name: '' }])
    await assert.rejects(createPlants(plants as never), /plants must be iterable/);
  await assert.rejects(createPlants(garbage as never), TypeError);
});
