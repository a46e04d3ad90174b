import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../../test/helpers/free-port.ts';
import { oneThread, token } from '../../../test/helpers/program.ts';
import { shareServer } from '../../../test/helpers/shared-server.ts';
import { storedPlants } from '../../../test/helpers/store-file.ts';
import {
  type ClientOptions,
  createClient,
  GaveUpError,
  InvalidInputError,
  type NewPlant,
  PlantStoreError,
  RefusedError,
  type RetriedFailure,
} from '../src/index.ts';

const shared = await shareServer(['--base-path', '/green/house', ...oneThread]);

/** A client of a service without plants. */
function sharedStore(options: Partial<ClientOptions> = {}) {
  const { plantsUrl, store } = shared();
  const client = createClient({ url: new URL('.', plantsUrl), token, ...options });
  return { ...client, plantsUrl, plants: () => storedPlants(store) };
}

/** Something that is not the service. @returns its address */
async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const alder: NewPlant = { id: 1n, name: 'Alder', tag: 'Alnus' };

/** The error of a create that must fail. */
async function errorOf(create: Promise<unknown>): Promise<PlantStoreError> {
  const error = await create.then(
    () => assert.fail('the create has succeeded'),
    (thrown) => thrown,
  );
  assert(error instanceof PlantStoreError, String(error));
  return error;
}

test('every id of int64 is stored with every digit, from a bigint and from a safe integer', async () => {
  const { createPlant, plants } = sharedStore();
  const ids = [-(2n ** 63n), -(2 ** 53 - 1), -0, 5, 9_007_199_254_740_993n, 2n ** 63n - 1n];
  for (const id of ids) {
    const { attempts, ...stored } = await createPlant({ id, name: `Plant ${BigInt(id)}`, tag: '' });
    assert.deepEqual(stored, { id: BigInt(id), name: `Plant ${BigInt(id)}`, tag: '' });
    assert.equal(attempts, 1);
  }
  assert.deepEqual(
    plants(),
    ids.map((id) => [BigInt(id), `Plant ${BigInt(id)}`, '']),
  );
});

test('a create can be repeated, and text is stored byte for byte', async () => {
  const { createPlant, plants } = sharedStore();
  const plant = { id: 1n, name: 'Ёлка 🌲 "\\\n\u2028', tag: undefined };
  await createPlant(plant);
  await createPlant(plant);
  assert.deepEqual(plants(), [[1n, plant.name, null]]);
});

const invalid: readonly (readonly [plant: unknown, says: RegExp])[] = [
  [
    { id: 2 ** 53, name: '' },
    /id must be a bigint, or a number that is a safe integer; it is 9007/,
  ],
  [{ id: 1.5, name: '' }, /safe integer; it is 1.5/],
  [{ id: Number.NaN, name: '' }, /safe integer; it is NaN/],
  [{ id: '1', name: '' }, /safe integer; it is string/],
  [{ name: '' }, /safe integer; it is undefined/],
  [{ id: 2n ** 63n, name: '' }, /id must be within int64; it is 9223372036854775808/],
  [{ id: -(2n ** 63n) - 1n, name: '' }, /id must be within int64/],
  [{ id: 1n }, /name must be a string/],
  [null, /a plant must be an object with id and name/],
  [undefined, /a plant must be an object/],
  [{ id: 1n, name: '', tag: null }, /tag must be a string, or left out/],
];

test('a plant that cannot be exact is an error before anything is sent', async (t) => {
  const url = await serve(t, () => assert.fail('a request was sent'));
  const { createPlant } = createClient({ url, token });
  for (const [plant, says] of invalid) {
    const error = await errorOf(createPlant(plant as NewPlant));
    assert(error instanceof InvalidInputError);
    assert.match(error.message, says);
    assert.deepEqual([error.isUnknown, error.attempts], [false, 0]);
  }
  const error = await errorOf(createPlant(alder, { traceparent: 'a trace' }));
  assert.match(error.message, /traceparent must be as W3C Trace Context writes it/);
});

const wrongOptions: readonly (readonly [options: unknown, says: RegExp])[] = [
  ...[
    'plants.example.org',
    'ftp://me:secret@a.org',
    'http://me:secret@a.org',
    'http://a.org/?a',
    'http://a.org/#a',
  ].map(
    (url) =>
      [{ url, token }, /^url must be an http or https address without user, query and/] as const,
  ),
  [{ url: 'http://plants.example.org', token: '' }, /token must be printable ASCII/],
  [{ url: 'http://plants.example.org', token: `${token}\n` }, /token must be printable ASCII/],
  [{ url: 'http://plants.example.org' }, /token must be printable ASCII/],
  [
    { url: 'http://plants.example.org', token, timeout: 0 },
    /timeout must be from 1 to 2147483647 millisec/,
  ],
  [{ url: 'http://plants.example.org', token, timeout: '60000' }, /timeout must be from 1 to/],
  [{ url: 'http://plants.example.org', token, timeout: 2 ** 31 }, /timeout must be from 1 to/],
  [{ url: 'http://plants.example.org', token, attemptTimeout: Number.NaN }, /attemptTimeout must/],
];

test('a wrong option is an error at once', () => {
  for (const [options, says] of wrongOptions)
    assert.throws(() => createClient(options as ClientOptions), {
      name: 'InvalidInputError',
      message: says,
    });
});

test('the address may end with a slash, or not', async () => {
  const { plantsUrl } = sharedStore();
  for (const url of [plantsUrl.replace('/plants', ''), plantsUrl.replace('plants', '')])
    await createClient({ url, token }).createPlant(alder);
});

test('a refusal is an error with its status, code and request id, after one attempt', async () => {
  const { createPlant, plants } = sharedStore();
  await createPlant(alder);
  const refused: readonly (readonly [plant: NewPlant, status: number, code: number])[] = [
    [{ ...alder, tag: undefined }, 400, 40004],
    [{ id: 2n, name: 'a\0b' }, 400, 40003],
    [{ id: 2n, name: 'a'.repeat(2 ** 20) }, 413, 41300],
  ];
  for (const [plant, status, code] of refused) {
    const error = await errorOf(createPlant(plant));
    assert(error instanceof RefusedError);
    assert.deepEqual([error.status, error.code], [status, code]);
    assert.deepEqual([error.isUnknown, error.attempts], [false, 1]);
    assert.match(error.requestId ?? '', /./);
  }
  const wrong = sharedStore({ token: 'not-a-token' });
  const error = await errorOf(wrong.createPlant(alder));
  assert.deepEqual([error.name, error.status, error.code], ['RefusedError', 401, 40101]);
  const elsewhere = sharedStore({ url: new URL('/', wrong.plantsUrl) });
  assert.equal((await errorOf(elsewhere.createPlant(alder))).code, 40400);
  assert.equal(plants().length, 0);
});

test('a token is asked for before each attempt, and a failure of that is retried', async () => {
  let calls = 0;
  const { createPlant } = sharedStore({
    token: async () => {
      calls += 1;
      if (calls === 1) throw new Error('the provider is away');
      return token;
    },
  });
  assert.equal((await createPlant(alder)).attempts, 1, 'the requests that were sent');
  assert.equal(calls, 2);

  const silent = sharedStore({ token: () => new Promise(() => undefined), attemptTimeout: 20 });
  const error = await errorOf(silent.createPlant(alder, { timeout: 100 }));
  assert(error instanceof GaveUpError);
  assert.equal(error.isUnknown, false);
  assert.match(error.message, /^plant 1 is not stored: its 100 ms .*; last failure: no token/);
});

test('an attempt without a reply is cut and retried, and then the outcome is unknown', async (t) => {
  let requests = 0;
  const url = await serve(t, () => (requests += 1));
  const { createPlant } = createClient({ url, token, attemptTimeout: 20 });
  const error = await errorOf(createPlant(alder, { timeout: 500 }));
  assert(error instanceof GaveUpError);
  assert.equal(error.isUnknown, true);
  assert.match(error.message, /^plant 1 may be stored: its 500 ms .*; last failure: no reply/);
  assert.equal((error.cause as Error).name, 'TimeoutError');
  assert(requests > 1, `${requests} requests`);
});

test('a plant that was never sent is known not to be stored', async () => {
  for (const url of ['http://plants.invalid', `http://127.0.0.1:${await freePort()}`]) {
    // The end comes between two attempts: what an attempt under way has sent is not known.
    const stop = new AbortController();
    const { createPlant } = createClient({ url, token, onRetry: () => stop.abort() });
    const error = await errorOf(createPlant(alder, { signal: stop.signal }));
    assert.equal(error.isUnknown, false, `${url}: ${error.message}`);
    assert.match(error.message, /^plant 1 is not stored: .*; last failure: /);
  }
});

test('the caller ends a create by a signal, and learns whether the plant may be stored', async (t) => {
  const stop = new AbortController();
  const url = await serve(t, () => stop.abort(new Error('the user has left')));
  const { createPlant } = createClient({ url, token });
  const begun = await errorOf(createPlant(alder, { signal: stop.signal }));
  assert.deepEqual([begun.name, begun.isUnknown, begun.attempts], ['GaveUpError', true, 1]);
  assert.equal((begun.cause as Error).message, 'the user has left');
  assert.match(begun.message, /^plant 1 may be stored: the caller has aborted its create/);

  const notBegun = await errorOf(createPlant(alder, { signal: stop.signal }));
  assert.deepEqual([notBegun.isUnknown, notBegun.attempts], [false, 0]);
});

test('a 200 counts only with the id of the plant', async (t) => {
  const replies: Record<string, string>[] = [{}, { 'Plant-Id': '9007199254740996' }];
  const url = await serve(t, (_, response) => response.writeHead(200, replies.shift()).end('{}'));
  const { createPlant } = createClient({ url, token });
  const error = await errorOf(createPlant({ id: 9_007_199_254_740_997n, name: 'Alder' }));
  assert.deepEqual([error.name, error.status, error.attempts], ['RefusedError', 200, 2]);
  assert.equal(error.isUnknown, true, 'a proxy may have mixed up two replies');
  assert.match(
    error.message,
    /the reply is about the id 9007199254740996 instead of 9007199254740997/,
  );
});

test('a redirect is not followed: it would turn the create into a GET', async (t) => {
  const { plantsUrl, plants } = sharedStore();
  const url = await serve(t, (_, response) =>
    response.writeHead(302, { Location: plantsUrl }).end(),
  );
  const error = await errorOf(createClient({ url, token }).createPlant(alder));
  assert.deepEqual([error.name, error.status, error.attempts], ['RefusedError', 302, 1]);
  assert.match(error.message, /redirects; use the address to which it leads/);
  assert.equal(plants().length, 0);
});

test('a service that asks for more time than there is ends the create at once', async (t) => {
  const waits = ['120', new Date(Date.now() + 120_000).toUTCString()];
  for (const wait of waits) {
    const url = await serve(t, (_, response) =>
      response.writeHead(503, { 'Retry-After': wait }).end('{"error":50300,"message":"Too many"}'),
    );
    const error = await errorOf(createClient({ url, token }).createPlant(alder));
    assert.deepEqual([error.name, error.code, error.attempts], ['GaveUpError', 50300, 1]);
    assert.equal(error.isUnknown, false, 'overloaded: the plant was not stored');
  }
});

test('an unknown outcome stays unknown when a later attempt is refused for another reason', async (t) => {
  const replies = [
    [502, ''],
    [401, '{"error":40101,"message":"The token is expired"}'],
  ] as const;
  let next = 0;
  const url = await serve(t, (_, response) => {
    const [status, body] = replies[next++] ?? assert.fail('one request too many');
    response.writeHead(status).end(body);
  });
  const error = await errorOf(createClient({ url, token }).createPlant(alder));
  assert.deepEqual([error.name, error.code, error.isUnknown], ['RefusedError', 40101, true]);
});

test('the creates of a client share their retries, so that an ill service is not finished off', async (t) => {
  let requests = 0;
  const url = await serve(t, (_, response) => {
    requests += 1;
    response.writeHead(503).end();
  });
  const { createPlant } = createClient({ url, token, timeout: 1_000 });
  const began = performance.now();
  const creates = Array.from({ length: 200 }, (_, id) => errorOf(createPlant({ id, name: '' })));
  for (const error of await Promise.all(creates)) assert.equal(error.isUnknown, true);
  // One retry each 250 ms, after the failures that show the illness. Without a budget, the full
  // jitter would send some 5 retries of each.
  const retriesMax = 10 + (performance.now() - began) / 250 + 1;
  assert(requests <= 200 + retriesMax, `${requests} requests`);
});

test('a plant that the caller changes meanwhile is sent as it was', async (t) => {
  const bodies: string[] = [];
  const url = await serve(t, async (request, response) => {
    for await (const chunk of request) bodies.push(`${chunk}`);
    response.writeHead(bodies.length === 1 ? 503 : 200, { 'Plant-Id': '1' }).end();
  });
  const plant = { id: 1, name: 'Alder' };
  const stored = createClient({ url, token }).createPlant(plant);
  plant.id = 2;
  plant.name = 'Birch';
  assert.deepEqual(await stored, { id: 1n, name: 'Alder', tag: undefined, attempts: 2 });
  assert.deepEqual(bodies, ['{"id":1,"name":"Alder"}', '{"id":1,"name":"Alder"}']);
});

test('the trace of the caller goes with the create', async (t) => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const seen: unknown[] = [];
  const url = await serve(t, ({ headers }, response) => {
    seen.push(headers['traceparent']);
    response.writeHead(200, { 'Plant-Id': '1' }).end();
  });
  const { createPlant } = createClient({ url, token });
  await createPlant(alder, { traceparent });
  await createPlant(alder);
  assert.deepEqual(seen, [traceparent, undefined]);
});

test('each retry is told, with what has failed', async (t) => {
  const told: unknown[] = [];
  const replies = [503, 200];
  const url = await serve(t, (_, response) =>
    response.writeHead(replies.shift() ?? 500, { 'Plant-Id': '1' }).end(),
  );
  const onRetry = async ({ pause, ...failure }: RetriedFailure) => {
    assert(pause >= 0 && pause <= 100);
    told.push(failure);
    throw new Error('the log is full');
  };
  await createClient({ url, token, onRetry }).createPlant(alder);
  const message = 'HTTP status 503, not from a plant store';
  assert.deepEqual(told, [{ id: 1n, attempts: 1, message, status: 503 }]);
});

test('an abort while a request is under way leaves the outcome unknown, whatever the reason says', async (t) => {
  const reasons: unknown[] = [
    Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }),
    Object.create(null),
    null,
  ];
  for (const reason of reasons) {
    const stop = new AbortController();
    const url = await serve(t, () => stop.abort(reason));
    const { createPlant } = createClient({ url, token });
    const error = await errorOf(createPlant(alder, { signal: stop.signal }));
    assert.deepEqual([error.name, error.isUnknown, error.attempts], ['GaveUpError', true, 1]);
  }
});

test('a reply that cannot be read leaves the outcome unknown', async () => {
  const odd = async () => ({ status: 200 }) as Response;
  const { createPlant } = createClient({ url: 'http://127.0.0.1', token, fetch: odd, timeout: 50 });
  assert.equal((await errorOf(createPlant(alder))).isUnknown, true);
});

test('a fetch that ignores its signal is not waited for', async () => {
  const deaf = () => new Promise<Response>(() => undefined);
  const { createPlant } = createClient({ url: 'http://127.0.0.1', token, fetch: deaf });
  const error = await errorOf(createPlant(alder, { timeout: 50 }));
  assert.deepEqual([error.name, error.isUnknown], ['GaveUpError', true]);
});

test('the 400 of a proxy says nothing about an earlier attempt', async (t) => {
  const statuses = [502, 400];
  const url = await serve(t, (_, response) =>
    response.writeHead(statuses.shift() ?? 500).end('no'),
  );
  const error = await errorOf(createClient({ url, token }).createPlant(alder));
  assert.deepEqual([error.name, error.status, error.isUnknown], ['RefusedError', 400, true]);
});

test('a field that a proxy has doubled is read', async (t) => {
  let requests = 0;
  const url = await serve(t, (_, response) => {
    requests += 1;
    if (requests === 1) response.writeHead(503, { 'Retry-After': '0, 0' }).end();
    else response.writeHead(200, ['Plant-Id', '1', 'Plant-Id', '1']).end();
  });
  assert.equal((await createClient({ url, token }).createPlant(alder)).attempts, 2);
});

test('a 200 whose body hangs is a stored plant', async (t) => {
  const url = await serve(t, (_, response) =>
    response.writeHead(200, { 'Plant-Id': '1' }).write('{'),
  );
  const began = performance.now();
  await createClient({ url, token }).createPlant(alder);
  assert(performance.now() - began < 9_000, 'it has waited for the end of the attempt');
});

test('the members of a plant are read once', async () => {
  const { createPlant, plants } = sharedStore();
  let reads = 0;
  const plant = {
    get id() {
      return BigInt((reads += 1));
    },
    name: 'Alder',
  };
  assert.equal((await createPlant(plant)).id, 1n);
  assert.deepEqual([reads, plants().length], [1, 1]);
});

test('many creates can share a signal, without a warning and without a leak', async (t) => {
  const { createPlants } = sharedStore();
  const { signal } = new AbortController();
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const plants = Array.from({ length: 500 }, (_, id) => ({ id, name: '' }));
  await createPlants(plants, { signal, concurrency: 64 });
  assert.deepEqual(warnings, []);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
});
