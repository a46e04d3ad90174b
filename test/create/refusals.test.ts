import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { headerFields } from '../../src/contract/openapi-responses.ts';
import {
  type Problem,
  type ProblemName,
  problemNames,
  problems,
} from '../../src/contract/problems.ts';
import { assertDescribed } from '../helpers/description.ts';
import { withLimits } from '../helpers/faults.ts';
import { pause } from '../helpers/pause.ts';
import { sharedPostgres } from '../helpers/postgres.ts';
import { oneThread, startServer, storePath, token } from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  exchange,
  type RawReply,
  type RawRequest,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { alterStore, lockStore, storedPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const shared = await storePath({ after });
const operating = await storedToken(shared, 'watcher', { role: 'operate' });
/**
 * The refusal of each request has a line, and one plant may wait. A lock of the store may be held
 * for as long as a busy machine takes.
 */
const sharedServer = await shareServer(
  [...oneThread, '--log-level', 'debug', '--commit-timeout', '60s'],
  shared,
  withLimits({ store: { queuePlantsMax: 2 } }),
);

/** The header fields have their own time; test/http/port.test.ts has that of the body. */
const shortOfTime = await shareServer(
  [...oneThread, '--commit-timeout', '500ms'],
  undefined,
  withLimits({ http: { headersMs: 300, requestMs: 3_600_000 } }),
);

const requestIds = new Set<string>();

/** The messages of each problem that a server under test has been brought to answer with. */
const provoked = new Map<ProblemName, Set<string>>();

function assertProvoked(reply: RawReply, problem: ProblemName): string {
  const message = assertRefusal(reply, problem);
  assertDescribed(reply);
  assert(!requestIds.has(requestIdOf(reply)));
  requestIds.add(requestIdOf(reply));
  const messages = provoked.get(problem) ?? new Set();
  const { example: requestId } = headerFields['X-Request-Id'];
  provoked.set(problem, messages.add(message.replace(requestIdOf(reply), requestId)));
  return message;
}

function requestIdOf({ headers }: RawReply): string {
  return headers.get('x-request-id') ?? '';
}

const plant = '{"id":7,"name":"Alder","tag":"Alnus"}';
const authorization = (value: string | readonly string[] | undefined): RawRequest => ({
  fields: { Authorization: value },
});

interface Case {
  readonly what: string;
  readonly bytes: Uint8Array | string;
  /** Header fields of the reply beyond those of the catalogue. */
  readonly headers?: Readonly<Record<string, string>>;
}

const refusedByBody = (body: string): Case => ({
  what: `the body ${body}`,
  bytes: rawRequest(body),
});
const refusedByRequest = (
  what: string,
  request: RawRequest,
  headers: Case['headers'] = {},
): Case => ({
  what,
  bytes: rawRequest(plant, request),
  headers,
});

/**
 * Requests that are refused for what they are, by the problem that they have. The files in
 * test/hostile send those that are refused for it in every other way.
 */
const cases: Partial<Record<ProblemName, readonly Case[]>> = {
  bodyMalformed: [refusedByBody('')],
  notNewPlant: [refusedByBody('{"id":7}')],
  idNotInt64: [refusedByBody('{"id":9223372036854775808,"name":"Alder"}')],
  textNotStorable: [refusedByBody('{"id":7,"name":"Al\\u0000der"}')],
  authorizationMalformed: [
    refusedByRequest('a header without a scheme', authorization(`: Bearer ${token}`)),
  ],
  httpMalformed: [{ what: 'no HTTP at all', bytes: 'hello, is this the plant store?\r\n\r\n' }],
  tokenMissing: [refusedByRequest('no Authorization header', authorization(undefined))],
  tokenInvalid: [
    refusedByRequest('a token in another case', authorization(`Bearer ${token.toUpperCase()}`)),
  ],
  scopeInsufficient: [
    refusedByRequest('a token for operators', authorization(`Bearer ${operating}`)),
  ],
  pathUnknown: ['/', '/plant', '/plants/7', '/openapi.yaml'].map((target) =>
    refusedByRequest(`the path ${target}`, { target }),
  ),
  methodNotAllowed: [
    ...['GET', 'PATCH', 'OPTIONS'].map((method) =>
      refusedByRequest(`${method} of the plants`, { method }, { allow: 'POST' }),
    ),
    refusedByRequest(
      'POST of the description',
      { target: '/openapi.json' },
      { allow: 'GET, HEAD' },
    ),
    {
      what: 'CONNECT',
      bytes: 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
      headers: { allow: 'POST' },
    },
  ],
  bodyTooLarge: [
    refusedByRequest('a Content-Length over the limit', {
      fields: { 'Content-Length': '1048577' },
    }),
  ],
  mediaTypeUnsupported: [
    refusedByRequest('a form', {
      fields: { 'Content-Type': 'application/x-www-form-urlencoded' },
    }),
  ],
  expectationFailed: [
    refusedByRequest('another expectation', { fields: { Expect: 'the-unexpected' } }),
  ],
  headersTooLarge: [
    refusedByRequest('a header of 20 KB', { fields: { 'X-Large': 'x'.repeat(20_000) } }),
  ],
  versionUnsupported: [refusedByRequest('HTTP/2.0', { version: 'HTTP/2.0' })],
};

test('a refused request gets the reply of the catalogue, and stores nothing:', async (t) => {
  const { port, store } = sharedServer();
  for (const [problem, ofProblem] of Object.entries(cases) as [ProblemName, readonly Case[]][]) {
    for (const { what, bytes, headers = {} } of ofProblem) {
      await t.test(`${problems[problem].code} for ${what}`, async (t) => {
        const reply = await exchange(t, port, bytes);

        const message = assertProvoked(reply, problem);
        for (const [field, value] of Object.entries(headers))
          assert.equal(reply.headers.get(field), value);
        assert(!message.includes(token), 'the message echoes the token');
        assert.deepEqual(storedPlants(store), []);
      });
    }
  }
});

test('no reply and no line of the log shows more than 64 characters in a row of what a client has sent', async (t) => {
  const { port, stderr, logged } = sharedServer();
  const long = 'x'.repeat(15_000);
  const inChunks = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
  const requests: readonly (readonly [ProblemName, Uint8Array])[] = [
    ['methodNotAllowed', rawRequest(plant, { method: long })],
    ['pathUnknown', rawRequest(plant, { target: `/${long}` })],
    ['httpMalformed', rawRequest(plant, { version: long })],
    ['httpMalformed', rawRequest(plant, { fields: { Host: `${long}@` } })],
    ['httpMalformed', rawRequest(plant, { fields: { 'Content-Length': long } })],
    ['httpMalformed', rawRequest(`${long}\r\n`, { fields: inChunks })],
    ['headersTooLarge', rawRequest(plant, { fields: { [long]: long } })],
    ['expectationFailed', rawRequest(plant, { fields: { Expect: long } })],
    ['mediaTypeUnsupported', rawRequest(plant, { fields: { 'Content-Type': long } })],
    ['mediaTypeUnsupported', rawRequest(plant, { fields: { 'Content-Encoding': long } })],
    ['authorizationMalformed', rawRequest(plant, authorization(`Bearer ${long}`))],
    ['tokenMissing', rawRequest(plant, authorization(`${long} a`))],
    ['tokenInvalid', rawRequest(plant, authorization(`Bearer ${long.slice(0, 500)}`))],
    ['bodyMalformed', rawRequest(long)],
    ['bodyMalformed', rawRequest(`{"${long}":1,"${long}":2}`)],
    ['notNewPlant', rawRequest(`{"id":"${long}","name":""}`)],
    ['idNotInt64', rawRequest(`{"id":${long.replaceAll('x', '1')},"name":""}`)],
    ['textNotStorable', rawRequest(`{"id":1,"name":"${long}\\u0000"}`)],
  ];

  for (const [problem, bytes] of requests) {
    const reply = await exchange(t, port, bytes);
    const message = assertRefusal(reply, problem);
    assert.doesNotMatch(message, /([x1])\1{64}/);
    assert.doesNotMatch([...reply.headers.values()].join('\n'), /x{64}/);
    await logged((lines) => lines.includes(reply.headers.get('x-request-id') as string));
  }

  assert.match(stderr(), /"code":40500/);
  assert.doesNotMatch(stderr(), /([x1])\1{64}/);
});

test('40004 is answered for an id that belongs to another plant, which stays as it is', async (t) => {
  const { port, store } = sharedServer();
  const created = await exchange(t, port, rawRequest(plant));
  assert.equal(created.status, 200);
  assertDescribed(created);
  const other = rawRequest('{"id":7,"name":"Birch","tag":"Alnus"}');
  assertProvoked(await exchange(t, port, other), 'idTaken');
  assert.deepEqual(storedPlants(store), [[7n, 'Alder', 'Alnus']]);
});

test('42900 is answered for a token that sends more creates than its rate allows', async (t) => {
  const { store, port } = sharedServer();
  const rate = { perDay: 86_400, burst: 1 };
  const bearer = await storedToken(store, 'limited', { rate });
  const { send, reply } = await connectRaw(t, port);
  const request = rawRequest(plant, authorization(`Bearer ${bearer}`));
  send(request, request);
  assert.equal((await reply()).status, 200);
  assertProvoked(await reply(), 'rateLimited');
});

test('40007 is answered to a plant that a constraint of the database refuses, and only the log names the constraint', async (t) => {
  const database = await sharedPostgres(t);
  const url = await database.makeDatabase();
  const { port, opsUrl, logged, stderr } = await startServer(t, url, oneThread);
  await database.query("ALTER TABLE plants ADD CONSTRAINT no_secret CHECK (name <> 'secret')", url);
  const bad = rawRequest('{"id":8,"name":"secret"}');

  for (let sent = 1; sent <= 5; sent += 1) {
    const message = assertProvoked(await exchange(t, port, bad), 'plantRefused');
    assert.doesNotMatch(message, /secret/);
  }
  assert.equal((await exchange(t, port, rawRequest(plant))).status, 200);

  await logged((text) => /"code":40007.*no_secret.*SQLSTATE 23514/.test(text));
  assert.doesNotMatch(stderr().replaceAll('no_secret', ''), /secret|"level":"error"|50301/);
  const metrics = await (await fetch(`${opsUrl}metrics`)).text();
  assert.match(metrics, /^plant_store_creates_total\{outcome="refused"\} 5$/m);
  assert.match(metrics, /^plant_store_creates_total\{outcome="failed"\} 0$/m);
});

test('40800 is answered for a request that does not arrive in time, and the connection is closed', async (t) => {
  const { port, store } = shortOfTime();
  for (const bytes of [rawRequest(plant).subarray(0, 30), 'PLANT /pla']) {
    const connection = await connectRaw(t, port);
    connection.send(bytes);

    assertProvoked(await connection.reply(), 'requestTimeout');
    assert.equal(await connection.closed(), '');
  }
  assert.deepEqual(storedPlants(store), []);
});

test('50000 is answered for a defect, which is logged under the request id that the client got', async (t) => {
  const { port, store, logged } = sharedServer();
  // Any thread can still start: the statement fails when it is run, and not when it is prepared.
  alterStore(store, 'CREATE INDEX broken ON plants (json(name))');

  const reply = await exchange(t, port, rawRequest(plant));

  const message = assertProvoked(reply, 'defect');
  const requestId = reply.headers.get('x-request-id') ?? '';
  assert(message.includes(requestId));
  assert(!/sqlite|malformed|\.ts/i.test(message), `internals in: ${message}`);
  const line = new RegExp(`${requestId}.*malformed JSON`);
  await logged((stderr) => line.test(stderr));
  alterStore(store, 'DROP INDEX broken');
});

test('50300 is answered at once to what is too many for the queue, and none of it is stored', async (t) => {
  const { port, store } = sharedServer();
  const lock = lockStore(t, store);
  const send = (id: number) => exchange(t, port, rawRequest(`{"id":${id},"name":"Alder"}`));
  const replies = [1, 2, 3].map(async (id) => ({ id, reply: await send(id) }));

  // The plant that comes first waits for the lock; the other two are refused meanwhile.
  const first = await Promise.race(replies);
  const second = await Promise.race(replies.filter((_, index) => index + 1 !== first.id));
  for (const { reply } of [first, second]) assertProvoked(reply, 'overloaded');
  lock.release();

  const others = (await Promise.all(replies)).filter((one) => one !== first && one !== second);
  const statuses = others.map(({ reply }) => reply.status);
  assert.deepEqual(statuses, [200]);
  const rows = others.map(({ id }) => [BigInt(id), 'Alder', null]);
  assert.deepEqual(storedPlants(store), rows);
  // What was refused is welcome later.
  assert.equal((await send(first.id)).status, 200);
});

test('50301 is answered while the store cannot be written, and a retry succeeds once it can', async (t) => {
  const { port, store } = shortOfTime();
  const lock = lockStore(t, store);

  assertProvoked(await exchange(t, port, rawRequest(plant)), 'storeUnavailable');
  assertProvoked(await exchange(t, port, rawRequest(plant)), 'storeUnavailable');
  lock.release();

  // The server takes plants again as soon as the transaction that failed has ended.
  let retry = await exchange(t, port, rawRequest(plant));
  for (; retry.status === 503; retry = await exchange(t, port, rawRequest(plant))) await pause();
  assert.equal(retry.status, 200);
  assert.deepEqual(storedPlants(store), [[7n, 'Alder', 'Alnus']]);
});

test('50302 is answered while the server shuts down, but what it had received before is stored and answered', async (t) => {
  const { port, store, stop } = sharedServer();
  const lock = lockStore(t, store);
  const [before, between, idle] = [
    await connectRaw(t, port),
    await connectRaw(t, port),
    await connectRaw(t, port),
  ];
  const late = rawRequest('{"id":8,"name":"Birch"}');
  await sendAndWaitUntilRead(before, rawRequest(plant));
  await sendAndWaitUntilRead(between, late.subarray(0, 60));

  const stopped = stop();
  // Until then, a connection that is open still serves a request.
  assert.equal(await idle.closed(), '');
  between.send(late.subarray(60));

  assertProvoked(await between.reply(), 'shuttingDown');
  assert.equal(await between.closed(), '');
  lock.release();
  assert.equal((await before.reply()).status, 200);
  assert.equal(await before.closed(), '');
  assert.equal(await stopped, 0);
  assert.deepEqual(storedPlants(store), [[7n, 'Alder', 'Alnus']]);
});

test('the catalogue is what clients have been promised: no number is changed or used again', () => {
  const challenge = (error: string) => ({
    'WWW-Authenticate': `Bearer realm="plant-store"${error && `, error="${error}"`}`,
  });
  const retry = { 'Retry-After': '1' };
  const close = { Connection: 'close' };
  assert.deepEqual(
    Object.values<Problem>(problems).map(({ code, status, headers }) => [code, status, headers]),
    [
      [40000, 400, {}],
      [40001, 400, {}],
      [40002, 400, {}],
      [40003, 400, {}],
      [40004, 400, {}],
      [40007, 400, {}],
      [40005, 400, challenge('invalid_request')],
      [40006, 400, close],
      [40100, 401, challenge('')],
      [40101, 401, challenge('invalid_token')],
      [40300, 403, challenge('insufficient_scope')],
      [40400, 404, {}],
      [40500, 405, {}],
      [40800, 408, close],
      [41300, 413, close],
      [41500, 415, {}],
      [41700, 417, close],
      [42900, 429, {}],
      [43100, 431, close],
      [50000, 500, {}],
      [50300, 503, retry],
      [50301, 503, retry],
      [50302, 503, { ...retry, ...close }],
      [50500, 505, close],
    ],
  );
});

test('every code of the catalogue has been provoked', () => {
  const never = problemNames.filter((name) => !provoked.has(name));
  assert.deepEqual(never, []);
});

test('every example of an error is a message that a server has sent', () => {
  for (const name of problemNames) {
    const messages = [...(provoked.get(name) ?? [])];
    const { example } = problems[name];
    assert(messages.includes(example), `${name}: ${example}\nis none of:\n${messages.join('\n')}`);
  }
});
