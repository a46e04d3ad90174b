import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import type { RequestList, RequestRecord } from '../../src/ops/contract.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  type RunningServer,
  startServer,
  startServerOnNewStore,
  storePath,
  token,
} from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const store = await storePath({ after });
const app = await storedToken(store, 'app');
const busy = await storedToken(store, 'busy', { rate: { perDay: 1, burst: 1 } });
const expired = await storedToken(store, 'last-year', { validMs: 1 });
const operator = await storedToken(store, 'operator', { role: 'operate' });
// Two threads: what holds for one has to hold for several.
const server = await startServer({ after }, store, ['--trusted-proxies', '127.0.0.1']);
const cookie = await signIn(server);

async function signIn({ opsUrl }: RunningServer): Promise<string> {
  const reply = await fetch(`${opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: operator }),
  });
  assert.equal(reply.status, 200);
  return /^[^;]+/.exec(reply.headers.get('Set-Cookie') ?? '')?.[0] ?? '';
}

async function ask(path: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`${server.opsUrl}api/requests${path}`, { headers: { Cookie: cookie } });
  return { status: reply.status, text: await reply.text() };
}

async function list(query: Readonly<Record<string, string>> = {}): Promise<RequestList> {
  const { status, text } = await ask(`?${new URLSearchParams(query)}`);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

async function send(secret: string, body: string | object, headers = {}) {
  const { plantsUrl } = server;
  const reply = await create(plantsUrl, body, { Authorization: `Bearer ${secret}`, ...headers });
  return { id: reply.headers.get('X-Request-Id') ?? '', text: await reply.text() };
}

/** What is the same in each run. */
function facts({ code, outcome, token: name, method, path }: RequestRecord) {
  return [code, outcome, name, method, path];
}

const hidden = 'a-text-that-only-a-body-or-a-query-has';

test('each refusal is told with its code, token, client and message, and with no body and no secret', async (t) => {
  const { next } = await list();
  await send(app, { id: 1, name: hidden });
  const taken = await send(app, { id: 1, name: `${hidden} 2` }, { 'X-Forwarded-For': '192.0.2.7' });
  await send(app, { id: 2.5, name: hidden });
  await send(app, `{"${hidden}`);
  await send(busy, { id: 2, name: hidden });
  await send(busy, { id: 3, name: hidden });
  await send(operator, { id: 3, name: hidden });
  await send('ps_unknown', { id: 3, name: hidden });
  await send(expired, { id: 3, name: hidden });
  const { origin } = new URL(server.plantsUrl);
  const missing = `${origin}/v1/${token}/plants/${hidden.slice(0, 9)}?token=${hidden}`;
  await (
    await fetch(missing, { method: 'PUT', headers: { Authorization: `Bearer ${app}` } })
  ).text();
  const connection = await connectRaw(t, server.port);
  connection.send(`${hidden}\r\n\r\n`);
  await connection.reply();

  const { requests } = await list({ after: next });
  const create = ['POST', '/plants'];
  // Two threads may note two requests in the same millisecond.
  const byCode = requests.toSorted(
    (one, other) =>
      Number(one.code) - Number(other.code) || `${one.token}`.length - `${other.token}`.length,
  );
  assert.deepEqual(byCode.map(facts), [
    [40000, 'refused', 'app', ...create],
    [40002, 'refused', 'app', ...create],
    [40004, 'refused', 'app', ...create],
    [40006, 'refused', null, null, null],
    [40101, 'refused', null, ...create],
    [40101, 'refused', 'last-year', ...create],
    [40300, 'refused', 'operator', ...create],
    [40400, 'refused', null, 'PUT', '/v1/…/plants/a-text-th'],
    [42900, 'refused', 'busy', ...create],
  ]);
  const last = byCode[2];
  assert.deepEqual(
    { ...last, at: '' },
    {
      ...{ at: '', requestId: taken.id, status: 400, code: 40004, outcome: 'refused' },
      ...{ token: 'app', client: '192.0.2.7', method: 'POST', path: '/plants' },
      ...{ message: JSON.parse(taken.text).message, cause: null },
    },
  );
  assert(Math.abs(Date.parse(last?.at ?? '') - Date.now()) < 60_000);
  const { text } = await ask('');
  for (const secret of [hidden, app, busy, expired, operator, token, 'ps_unknown'])
    assert(!text.includes(secret), secret);
});

test('the cause of a defect is in the log alone, because the text of a defect may quote a plant', async (t) => {
  const own = await startServerOnNewStore(t, ...oneThread);
  alterStore(
    own.store,
    'CREATE TRIGGER wrong BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, new.name); END',
  );
  const reply = await create(own.plantsUrl, { id: 1, name: hidden });
  assert.equal(reply.status, 500);
  const id = reply.headers.get('X-Request-Id') ?? '';
  await own.logged((stderr) => stderr.includes(id) && stderr.includes(hidden));
  const flags = ['--store', `sqlite:${own.store}`, '--ops-port', new URL(own.opsUrl).port];
  const { stdout } = await runHere(['explain', id, '--json', ...flags]);
  const cause = 'a defect of the service; the log has the defect under the request id';
  assert.deepEqual([JSON.parse(stdout).cause, stdout.includes(hidden)], [cause, false]);
});

test('refusals are listed by code and by token, the newest ones first, and only those after a position', async () => {
  const start = await list();
  for (const body of ['{', { id: 1 }, '{']) await send(app, body);
  await send(token, '{');
  const codes = async (query = {}) =>
    (await list({ after: start.next, ...query })).requests.map(({ code }) => code).sort();
  assert.deepEqual(await codes(), [40000, 40000, 40000, 40001]);
  assert.deepEqual(await codes({ token: 'app' }), [40000, 40000, 40001]);
  assert.deepEqual(await codes({ token: 'app', code: '40001' }), [40001]);
  assert.deepEqual(await codes({ token: 'nobody' }), []);
  await send('ps_unknown', '{');
  await send(expired, '{');
  assert.deepEqual(await codes({ validToken: 'false' }), [40101, 40101]);
  assert.deepEqual(await codes({ validToken: 'false', token: 'last-year' }), [40101]);
  assert.deepEqual(await codes({ validToken: 'true' }), [40000, 40000, 40000, 40001]);
  const cut = await list({ after: start.next, limit: '3', validToken: 'true' });
  assert.deepEqual([cut.requests.length, cut.missed], [3, 1]);
  assert.deepEqual((await list({ after: cut.next })).requests, []);
  const ofAnotherRun = await list({ after: '1-5-5-5' });
  assert.deepEqual([ofAnotherRun.requests.length > 4, ofAnotherRun.missed], [true, 0]);
});

test('one request is found by its id, and an unknown id is told what it can mean', async (t) => {
  const { id } = await send(app, '{');
  const found = await ask(`/${id}`);
  assert.deepEqual(
    [found.status, JSON.parse(found.text).requestId, JSON.parse(found.text).code],
    [200, id, 40000],
  );
  const fateOf = async (requestId: string) => {
    const { status, text } = await ask(`/${requestId}`);
    assert.equal(status, 404);
    return JSON.parse(text).message;
  };
  assert.match(await fateOf('nothing-1'), /remembers no request with this id\. Check the id\./);
  assert.match(
    await fateOf('6927000000abcd-1'),
    /The process that has given the id was started at 2025-11-26T13:26:24\.000Z: it is another node/,
  );
  // One connection: all its requests are of one thread.
  const connection = await connectRaw(t, server.port);
  // Accepted, and never in the sample of the creates.
  const description = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const ids: string[] = [];
  for (const request of [rawRequest('{'), description, rawRequest('{')]) {
    connection.send(request);
    ids.push((await connection.reply()).headers.get('x-request-id') ?? '');
  }
  const [, accepted = ''] = ids;
  const time = '20\\S+Z';
  assert.match(
    await fateOf(accepted),
    new RegExp(
      `^The service has not refused this request, which came between ${time} and ${time}: it was accepted, or it has no reply yet\\. The plants of that time: plant-store plants list --newest --details --since ${time} --until ${time}$`,
    ),
  );
  assert.match(
    await fateOf(`${accepted.split('-')[0]}-zzzzz`),
    /^The service has not given this id to a request\. Check the id\.$/,
  );
  connection.send(description);
  const last = (await connection.reply()).headers.get('x-request-id') ?? '';
  assert.match(
    await fateOf(last),
    new RegExp(
      `^The service has not refused this request, which can only have come after ${time}:`,
    ),
  );
});

test('when the message of a refusal is forgotten, its code, its time and its token are not', async (t) => {
  // One connection: all its requests are of one thread.
  const connection = await connectRaw(t, server.port);
  const refused = async () => {
    connection.send(rawRequest('{', { fields: { Authorization: `Bearer ${app}` } }));
    return (await connection.reply()).headers.get('x-request-id') ?? '';
  };
  const requestId = await refused();
  const { at } = JSON.parse((await ask(`/${requestId}`)).text);
  for (let more = 0; more < limits.ops.refusalsKept; more += 1) await refused();
  const { status, text } = await ask(`/${requestId}`);
  const { message, ...rest } = JSON.parse(text);
  assert.match(message, /^The service has forgotten the message/);
  assert.deepEqual(
    [status, rest],
    [
      200,
      {
        ...{ at, requestId, status: 400, code: 40000, outcome: 'refused', token: 'app' },
        ...{ client: '', method: null, path: null, cause: null },
      },
    ],
  );
});

test('accepted creates are sampled, and listed if they are asked for', async () => {
  const { next } = await list();
  for (;;) {
    await send(token, { id: 50, name: 'Alder' });
    await send(token, { id: 50, name: 'Alder' });
    const found = await list({ after: next, creates: 'true' });
    const newest = found.requests.find(({ outcome }) => outcome === 'same');
    if (newest) {
      assert.deepEqual(facts(newest), [null, 'same', 'environment', 'POST', '/plants']);
      assert.match(newest.message, /^The same plant was stored before/);
      assert.equal((await ask(`/${newest.requestId}`)).status, 200);
      assert.deepEqual((await list({ after: next })).requests, []);
      assert.deepEqual((await list({ after: next, creates: 'true', code: '40004' })).requests, []);
      return;
    }
    // One create a second of a client is in the sample of a thread.
    await pause();
  }
});

test('more refusals than are kept are counted as missed', async (t) => {
  const { next } = await list();
  const refused = 2_100;
  const request = 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const connection = await connectRaw(t, server.port);
  connection.send(request.repeat(refused));
  for (let replies = 0; replies < refused; replies++) await connection.reply();

  const { requests, missed } = await list({ after: next, limit: '1000' });
  // Earlier refusals of others keep their shares.
  assert(requests.length > 900 && requests.length < 1_000, `${requests.length}`);
  assert.equal(missed, refused - requests.length);
  assert.equal((await list({ limit: '1000' })).missed, 0);
});
