import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listenFor } from '../../../test/helpers/free-port.ts';
import { oneThread, token } from '../../../test/helpers/program.ts';
import { shareServer } from '../../../test/helpers/shared-server.ts';
import { storedPlants } from '../../../test/helpers/store-file.ts';
import {
  type ClientOptions,
  createClient,
  InvalidInputError,
  type NewPlant,
  PlantStoreError,
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
  return `http://127.0.0.1:${await listenFor(t, createServer(answer))}`;
}

interface Reply {
  readonly status: number;
  readonly fields?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

/** Something that gives one reply after the other. @returns its address */
function serveReplies(t: TestContext, replies: readonly Reply[]): Promise<string> {
  const left = replies.values();
  return serve(t, (_, response) => {
    const { status, fields = {}, body } = left.next().value ?? assert.fail('a request too many');
    response.writeHead(status, fields).end(body);
  });
}

const alder: NewPlant = { id: 1n, name: 'Alder', tag: 'Alnus' };
const isAlder: Reply = { status: 200, fields: { 'Plant-Id': '1' } };
const busy = (retryAfter: string, body = ''): Reply => ({
  status: 503,
  fields: { 'Retry-After': retryAfter },
  body,
});

/** The error of a create that must fail. */
async function errorOf(create: Promise<unknown>): Promise<PlantStoreError> {
  const error = await create.then(
    () => assert.fail('the create has succeeded'),
    (thrown) => thrown,
  );
  assert(error instanceof PlantStoreError, String(error));
  return error;
}

test('each id of int64 and each text is stored exactly, and a create can be repeated', async () => {
  const { createPlant, plants } = sharedStore();
  const ids = [-(2n ** 63n), -(2 ** 53 - 1), -0, 5, 9_007_199_254_740_993n, 2n ** 63n - 1n];
  const sent = ids.map((id) => ({
    id,
    name: `Ёлка 🌲 "\\\n\u2028 ${id}`,
    tag: id < 0 ? '' : undefined,
  }));
  for (const plant of [...sent, ...sent])
    assert.deepEqual(await createPlant(plant), { ...plant, id: BigInt(plant.id), attempts: 1 });
  const expected = sent.map(({ id, name, tag }) => [BigInt(id), name, tag ?? null]);
  assert.deepEqual(plants(), expected);
});

const invalid: readonly (readonly [plant: unknown, says: RegExp])[] = [
  [{ id: 2 ** 53, name: '' }, /id must be a bigint, or a number .* safe integer; it is 9007/],
  [{ id: 1.5, name: '' }, /safe integer; it is 1.5/],
  [{ id: Number.NaN, name: '' }, /safe integer; it is NaN/],
  [{ id: '1', name: '' }, /safe integer; it is string/],
  [{ name: '' }, /safe integer; it is undefined/],
  [{ id: 2n ** 63n, name: '' }, /id must be within int64; it is 9223372036854775808/],
  [{ id: -(2n ** 63n) - 1n, name: '' }, /id must be within int64/],
  [{ id: 1n }, /name must be a string/],
  [null, /a plant must be an object with id and name/],
  [{ id: 1n, name: '', tag: null }, /tag must be a string, or left out/],
];

test('a plant that cannot be exact is an error before anything is sent', async (t) => {
  const { createPlant } = createClient({ url: await serveReplies(t, []), token });
  for (const [plant, says] of invalid) {
    const error = await errorOf(createPlant(plant as NewPlant));
    assert(error instanceof InvalidInputError);
    assert.match(error.message, says);
    assert.deepEqual([error.isUnknown, error.attempts], [false, 0]);
  }
  const error = await errorOf(createPlant(alder, { traceparent: 'a trace' }));
  assert.match(error.message, /traceparent must be as W3C Trace Context writes it/);
});

const wrongOptions: readonly (readonly [options: object, says: RegExp])[] = [
  ...['plants', 'ftp://a.org', 'http://me:secret@a.org', 'http://a.org/?a', 'http://a.org/#a'].map(
    (url) => [{ url }, /^url must be an http or https address without user, query and/] as const,
  ),
  ...['', `${token}\n`, undefined].map(
    (wrong) => [{ token: wrong }, /token must be printable ASCII/] as const,
  ),
  ...[0, '60000', 2 ** 31, Number.NaN].map(
    (timeout) => [{ timeout }, /timeout must be from 1 to 2147483647 milliseconds/] as const,
  ),
  [{ attemptTimeout: 0 }, /attemptTimeout must be from 1 to/],
];

test('a wrong option is an error at once', () => {
  for (const [wrong, message] of wrongOptions)
    assert.throws(() => createClient({ url: 'http://plants.example.org', token, ...wrong }), {
      name: 'InvalidInputError',
      message,
    });
});

test('the address may end with a slash, or not', async () => {
  const { plantsUrl } = sharedStore();
  for (const url of [plantsUrl.replace('/plants', ''), plantsUrl.replace('plants', '')])
    await createClient({ url, token }).createPlant(alder);
});

test('a refusal is an error with its status, code and request id, after one attempt', async () => {
  const { createPlant, plants, plantsUrl } = sharedStore();
  await createPlant(alder);
  const stranger = createClient({ url: new URL('.', plantsUrl), token: 'not-a-token' });
  const elsewhere = createClient({ url: new URL('/', plantsUrl), token });
  const refused: [create: Promise<unknown>, status: number, code: number][] = [
    [createPlant({ ...alder, tag: undefined }), 400, 40004],
    [createPlant({ id: 2n, name: 'a\0b' }), 400, 40003],
    [createPlant({ id: 2n, name: 'a'.repeat(2 ** 20) }), 413, 41300],
    [stranger.createPlant(alder), 401, 40101],
    [elsewhere.createPlant(alder), 404, 40400],
  ];
  const errors = await Promise.all(refused.map(([create]) => errorOf(create)));
  for (const [index, [, ...expected]] of refused.entries()) {
    const { name, status, code, isUnknown, attempts, requestId } = errors[index] ?? assert.fail();
    assert.deepEqual([status, code], expected);
    assert.deepEqual([name, isUnknown, attempts], ['RefusedError', false, 1]);
    assert.match(requestId ?? '', /./);
  }
  assert.equal(plants().length, 1);
});

/** The error of a create that gets these replies, one after the other. */
const failures: Readonly<
  Record<string, { replies: readonly Reply[]; error: Partial<PlantStoreError>; says?: RegExp }>
> = {
  'a 200 counts only with the id of the plant, because a proxy may mix up two replies': {
    replies: [{ status: 200 }, { status: 200, fields: { 'Plant-Id': '9007199254740996' } }],
    error: { name: 'RefusedError', status: 200, attempts: 2, isUnknown: true },
    says: /the reply is about the id 9007199254740996 instead of 1/,
  },
  'a redirect is not followed: it would turn the create into a GET': {
    replies: [{ status: 302, fields: { Location: '/' } }],
    error: { name: 'RefusedError', status: 302, attempts: 1, isUnknown: false },
    says: /redirects; use the address to which it leads/,
  },
  'a service that asks for more time than there is ends the create at once': {
    replies: [busy('120', '{"error":50300,"message":"Too many"}')],
    error: { name: 'GaveUpError', code: 50300, attempts: 1, isUnknown: false },
  },
  'the time that a service asks for may be a date': {
    replies: [busy('Fri, 01 Jan 2100 00:00:00 GMT')],
    error: { name: 'GaveUpError', status: 503, attempts: 1, isUnknown: true },
  },
  'an unknown outcome stays unknown when a later attempt is refused for another reason': {
    replies: [{ status: 502 }, { status: 401, body: '{"error":40101,"message":"It is expired"}' }],
    error: { name: 'RefusedError', code: 40101, attempts: 2, isUnknown: true },
  },
  'the 400 of a proxy says nothing about an earlier attempt': {
    replies: [{ status: 502 }, { status: 400, body: 'no' }],
    error: { name: 'RefusedError', status: 400, attempts: 2, isUnknown: true },
  },
};

for (const [what, { replies, error: expected, says = /./ }] of Object.entries(failures))
  test(what, async (t) => {
    const url = await serveReplies(t, replies);
    const error = await errorOf(createClient({ url, token }).createPlant(alder));
    assert.partialDeepStrictEqual({ ...error }, expected);
    assert.match(error.message, says);
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

  const silent = sharedStore({ token: () => new Promise(() => undefined), attemptTimeout: 100 });
  const error = await errorOf(silent.createPlant(alder, { timeout: 2_000 }));
  assert.deepEqual([error.name, error.isUnknown], ['GaveUpError', false]);
  assert.match(error.message, /^plant 1 is not stored: its 2000 ms .*; last failure: no token/);
});

test('an attempt without a reply is cut and retried, and then the outcome is unknown', async (t) => {
  let requests = 0;
  const url = await serve(t, () => (requests += 1));
  const { createPlant } = createClient({ url, token, attemptTimeout: 100 });
  const error = await errorOf(createPlant(alder, { timeout: 2_000 }));
  assert.deepEqual([error.name, error.isUnknown], ['GaveUpError', true]);
  assert.match(error.message, /^plant 1 may be stored: its 2000 ms .*; last failure: no reply/);
  assert.equal((error.cause as Error).name, 'TimeoutError');
  assert(requests > 1, `${requests} requests`);
});

test('a plant that was never sent is known not to be stored', async () => {
  // No program listens at port 2. fetch() sends nothing to port 1, which it takes for a wrong one.
  for (const url of ['http://plants.invalid', 'http://127.0.0.1:2']) {
    // The end comes between two attempts: what an attempt under way has sent is not known.
    const stop = new AbortController();
    const { createPlant } = createClient({ url, token, onRetry: () => stop.abort() });
    const error = await errorOf(createPlant(alder, { signal: stop.signal }));
    assert.equal(error.isUnknown, false, `${url}: ${error.message}`);
    assert.match(error.message, /^plant 1 is not stored: .*; last failure: /);
  }
});

test('the caller ends a create by a signal, and learns whether the plant may be stored', async (t) => {
  const notSent = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
  for (const reason of [new Error('the user has left'), notSent, Object.create(null), null]) {
    const stop = new AbortController();
    const url = await serve(t, () => stop.abort(reason));
    const { createPlant } = createClient({ url, token });
    const begun = await errorOf(createPlant(alder, { signal: stop.signal }));
    assert.deepEqual([begun.name, begun.isUnknown, begun.attempts], ['GaveUpError', true, 1]);
    assert.equal(begun.cause, reason);
    assert.match(begun.message, /^plant 1 may be stored: the caller has aborted its create/);

    const notBegun = await errorOf(createPlant(alder, { signal: stop.signal }));
    assert.deepEqual([notBegun.isUnknown, notBegun.attempts], [false, 0]);
  }
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

test('a plant is read once: what the caller changes meanwhile is not sent', async (t) => {
  const bodies: string[] = [];
  const url = await serve(t, async (request, response) => {
    for await (const chunk of request) bodies.push(`${chunk}`);
    response.writeHead(bodies.length === 1 ? 503 : 200, { 'Plant-Id': '1' }).end();
  });
  let reads = 0;
  const plant = {
    get id() {
      return BigInt((reads += 1));
    },
    name: 'Alder',
  };
  const stored = createClient({ url, token }).createPlant(plant);
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
  const url = await serveReplies(t, [{ status: 503 }, isAlder]);
  const onRetry = async ({ pause, ...failure }: RetriedFailure) => {
    assert(pause >= 0 && pause <= 100);
    told.push(failure);
    throw new Error('the log is full');
  };
  await createClient({ url, token, onRetry }).createPlant(alder);
  const message = 'HTTP status 503, not from a plant store';
  assert.deepEqual(told, [{ id: 1n, attempts: 1, message, status: 503 }]);
});

test('a fetch that ignores its signal, or gives no reply, leaves the outcome unknown in time', async () => {
  const deaf = () => new Promise<Response>(() => undefined);
  const odd = async () => ({ status: 200 }) as Response;
  for (const fetch of [deaf, odd]) {
    const { createPlant } = createClient({ url: 'http://127.0.0.1', token, fetch, timeout: 50 });
    const { name, isUnknown } = await errorOf(createPlant(alder));
    assert.deepEqual([name, isUnknown], ['GaveUpError', true]);
  }
});

test('a field that a proxy has doubled is read', async (t) => {
  const url = await serveReplies(t, [
    busy('0, 0'),
    { status: 200, fields: { 'Plant-Id': ['1', '1'] } },
  ]);
  assert.equal((await createClient({ url, token }).createPlant(alder)).attempts, 2);
});

test('a 200 whose body hangs is a stored plant', async (t) => {
  const url = await serve(t, (_, response) =>
    response.writeHead(200, { 'Plant-Id': '1' }).write('{'),
  );
  const { attempts } = await createClient({ url, token, timeout: 5_000 }).createPlant(alder);
  assert.equal(attempts, 1);
});

test('many creates can share a signal, without a warning and without a leak', async (t) => {
  const { createPlants } = sharedStore();
  const { signal } = new AbortController();
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const plants = Array.from({ length: 100 }, (_, id) => ({ id, name: '' }));
  await createPlants(plants, { signal, concurrency: 64 });
  assert.deepEqual(warnings, []);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
});
