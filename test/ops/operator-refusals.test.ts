import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import {
  type OperatorProblemName,
  operatorProblems,
} from '../../src/contract/operator-problems.ts';
import type { Problem } from '../../src/contract/problems.ts';
import { tryLockFile } from '../../src/store/engines.ts';
import type { Owner } from '../helpers/program.ts';
import { assertProblem, connectRaw, exchange, type RawReply } from '../helpers/raw.ts';
import { addTokens, alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { startWithOperator } from '../helpers/with-operator.ts';

const portOf = ({ opsUrl }: { readonly opsUrl: string }) => Number(new URL(opsUrl).port);

/** Every problem that a server under test has been brought to answer operators with. */
const provoked = new Set<OperatorProblemName>();

/** @returns the message */
function assertProvoked(reply: RawReply, name: OperatorProblemName): string {
  const message = assertProblem(reply, operatorProblems[name]);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  assert.match(reply.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  provoked.add(name);
  return message;
}

/** A request for the operators' port; its Host is left out where `fields` has one. */
function requestOf(line: string, fields: readonly string[] = [], body = ''): string {
  const host = fields.some((one) => one.startsWith('Host:')) ? [] : ['Host: localhost'];
  const length =
    body === '' ? [] : [`Content-Length: ${body.length}`, 'Content-Type: application/json'];
  return `${[`${line} HTTP/1.1`, ...host, ...length, ...fields].join('\r\n')}\r\n\r\n${body}`;
}

const signIn = (token: string) => requestOf('POST /api/session', [], JSON.stringify({ token }));

/** A server with an operator who has signed in. */
async function startSignedIn(t: Owner, ...args: string[]) {
  const { server, store, token } = await startWithOperator(t, args);
  const port = portOf(server);
  // The name of the cookie comes from the Host.
  const { headers } = await exchange(t, port, signIn(token));
  return { ...server, store, port, cookie: `Cookie: ${headers.get('set-cookie')?.split(';')[0]}` };
}

const shared = await startSignedIn({ after });
const slow = await connectRaw({ after }, shared.port);
slow.send('GET /livez HTTP/1.1\r\n');
const idle = await connectRaw({ after }, shared.port);
const creating = await storedToken(shared.store, 'app');
const { cookie } = shared;

/** What is refused for what it is, by the problem that it has. */
const cases: Partial<Record<OperatorProblemName, readonly string[]>> = {
  bodyMalformed: [
    requestOf('POST /api/session', [], '{'),
    requestOf('POST /api/session', [], '{"token":"a","token":"b"}'),
    requestOf('POST /api/session', ['Content-Type: application/json']),
  ],
  httpMalformed: ['\x01\x02\r\n\r\n'],
  bodyWrong: [
    requestOf('POST /api/session', [], '{}'),
    requestOf('POST /api/session', [], '{"token":"ps_a","link":"b"}'),
    requestOf('POST /api/session', [], '[]'),
    requestOf('POST /api/tokens', [cookie], '{}'),
  ],
  queryWrong: [
    requestOf('GET /api/plants?limit=0', [cookie]),
    requestOf('GET /api/plants?id=1.5', [cookie]),
    requestOf('GET /api/plants?id=%ff', [cookie]),
  ],
  notSignedIn: [requestOf('GET /api/overview'), requestOf('GET /api/nothing')],
  signInRefused: [signIn('ps_wrong')],
  linkRefused: [requestOf('POST /api/session', [], '{"link":"used"}')],
  otherSite: [requestOf('POST /api/session', ['Sec-Fetch-Site: cross-site'], '{}')],
  notOperator: [signIn(creating)],
  pathUnknown: [requestOf('GET /nothing'), requestOf('GET //localhost/livez')],
  tokenUnknown: [requestOf('DELETE /api/tokens?name=x', [cookie])],
  backupsOff: [requestOf('POST /api/backups', [cookie])],
  methodNotAllowed: [
    requestOf('POST /livez'),
    requestOf('PUT /api/tokens', [cookie]),
    // Of these, `Request` takes no TRACE and changes the case of the other.
    requestOf('TRACE /'),
    requestOf('get /'),
    'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n',
  ],
  tokenNameTaken: [requestOf('POST /api/tokens', [cookie], '{"name":"alice","role":"create"}')],
  bodyTooLarge: [requestOf('POST /api/session', ['Content-Length: 16385'])],
  mediaTypeUnsupported: [
    requestOf('POST /api/session', ['Content-Type: text/plain']),
    requestOf('POST /api/session', ['Content-Encoding: gzip'], '{}'),
  ],
  expectationFailed: [requestOf('GET /livez', ['Expect: a-miracle'])],
  hostUnknown: [requestOf('GET /livez', ['Host: evil.example'])],
  headersTooLarge: [requestOf('GET /livez', [`X-Large: ${'x'.repeat(20_000)}`])],
  versionUnsupported: [requestOf('GET /livez').replace('HTTP/1.1', 'HTTP/2.0')],
};

test('an operator who is refused gets the reply of the catalogue:', async (t) => {
  for (const [name, ofName] of Object.entries(cases) as [
    OperatorProblemName,
    readonly string[],
  ][]) {
    for (const bytes of ofName) {
      await t.test(
        `${operatorProblems[name].code} for ${JSON.stringify(bytes.slice(0, 60))}`,
        async (t) => {
          const message = assertProvoked(await exchange(t, shared.port, bytes), name);
          const [command] = message.match(/"plant-store [^"]*"/) ?? [];
          if (command) assert(command.endsWith(' --store STORE"'), command);
          // Strangers get these replies.
          assert(!message.includes(shared.store), message);
        },
      );
    }
  }
});

test('42950 is answered after a handful of wrong tokens, and a right one still signs in', async (t) => {
  let reply = await exchange(t, shared.port, signIn('ps_wrong'));
  let wrong = 0;
  for (; reply.status === 401 && wrong <= 10; wrong += 1)
    reply = await exchange(t, shared.port, signIn('ps_wrong'));
  assertProvoked(reply, 'signInsTooMany');
  assert(wrong > 0, `${wrong} were tried`);
  assert.match(reply.headers.get('retry-after') ?? '', /^[1-5]$/);
  const right = await storedToken(shared.store, 'right', { role: 'operate' });
  assert.equal((await exchange(t, shared.port, signIn(right))).status, 200);
});

test('40950 is answered when a token is rotated again within its grace', async (t) => {
  await storedToken(shared.store, 'turning');
  const rotate = () => {
    const wish = '{"name":"turning","graceHours":1}';
    return exchange(t, shared.port, requestOf('POST /api/tokens/rotation', [cookie], wish));
  };
  assert.equal((await rotate()).status, 201);
  assert.match(assertProvoked(await rotate(), 'tokenInRotation'), /ends at .*rotate again after/);
});

test('40901 is answered when there are as many tokens as there may be', async (t) => {
  addTokens(shared.store, 1_000, 'valid');
  const wish = '{"name":"more","role":"create"}';
  const reply = await exchange(t, shared.port, requestOf('POST /api/tokens', [cookie], wish));
  assertProvoked(reply, 'tokensTooMany');
});

test('40955 is answered while another backup runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-backups-'));
  t.after(() => rm(folder, { recursive: true }));
  using _ = tryLockFile(join(folder, '.plants.lock'));
  const { port, cookie } = await startSignedIn(t, '--backup-to', folder);
  const backUp = () => exchange(t, port, requestOf('POST /api/backups', [cookie]));
  await backUp();
  assertProvoked(await backUp(), 'backupUnderWay');
});

test('40800 is answered to a request that does not arrive in time, and a connection without a request is closed', async () => {
  assert.equal(await idle.closed(), '');
  assertProvoked(await slow.reply(), 'requestTimeout');
  assert.equal(await slow.closed(), '');
});

test('a HEAD has the header fields of a GET, and the connection goes on', async (t: TestContext) => {
  for (const path of ['/', '/livez', '/nothing']) {
    const connection = await connectRaw(t, shared.port);
    connection.send(requestOf(`HEAD ${path}`), requestOf(`GET ${path}`));
    const [head, get] = [await connection.reply('HEAD'), await connection.reply()];
    assert.equal(head.status, get.status);
    assert.equal(head.headers.get('content-length'), `${get.body.length}`, path);
  }
});

test('50000 is answered for a defect, which is logged under the request id that the operator got', async (t) => {
  alterStore(shared.store, 'ALTER TABLE tokens RENAME TO away');
  const reply = await exchange(t, shared.port, requestOf('GET /api/tokens', [cookie]));
  const requestId = reply.headers.get('x-request-id') ?? '';
  assert(assertProvoked(reply, 'defect').includes(requestId));
  await shared.logged((stderr) => new RegExp(`${requestId}.*no such table`).test(stderr));
  alterStore(shared.store, 'ALTER TABLE away RENAME TO tokens');
});

test('50301 is answered when the store cannot be searched', async (t) => {
  alterStore(shared.store, 'PRAGMA user_version = 99');
  const reply = await exchange(t, shared.port, requestOf('GET /api/plants', [cookie]));
  assertProvoked(reply, 'storeUnavailable');
});

test('a service that stops ends idle connections of operators at once, and answers 50302 to a request that ends then', async (t) => {
  const [idle, late] = await Promise.all([connectRaw(t, shared.port), connectRaw(t, shared.port)]);
  const request = requestOf('GET /livez');
  idle.send(request);
  assert.equal((await idle.reply()).status, 200);
  late.send(request, request.slice(0, 30));
  assert.equal((await late.reply()).status, 200);

  const stopped = shared.stop();
  assert.equal(await idle.closed(), '');
  late.send(request.slice(30));

  assertProvoked(await late.reply(), 'shuttingDown');
  assert.equal(await stopped, 0);
});

/** A number, once here, stays and keeps its meaning. */
const promised: Readonly<Record<OperatorProblemName, number>> = {
  bodyMalformed: 40000,
  httpMalformed: 40006,
  bodyWrong: 40050,
  queryWrong: 40051,
  notSignedIn: 40150,
  signInRefused: 40151,
  linkRefused: 40152,
  otherSite: 40301,
  notOperator: 40350,
  pathUnknown: 40400,
  tokenUnknown: 40450,
  methodNotAllowed: 40500,
  requestTimeout: 40800,
  tokenNameTaken: 40900,
  tokensTooMany: 40901,
  tokenInRotation: 40950,
  backupUnderWay: 40955,
  backupsOff: 40956,
  bodyTooLarge: 41300,
  mediaTypeUnsupported: 41500,
  expectationFailed: 41700,
  hostUnknown: 42100,
  signInsTooMany: 42950,
  headersTooLarge: 43100,
  defect: 50000,
  storeUnavailable: 50301,
  shuttingDown: 50302,
  versionUnsupported: 50500,
};

test('the catalogue is what operators have been promised, in the order of the numbers', () => {
  const rows = Object.entries<Problem>(operatorProblems);
  assert.deepEqual(
    rows.map(([name, { code, status }]) => [name, code, status]),
    Object.entries(promised).map(([name, code]) => [name, code, Math.floor(code / 100)]),
  );
});

test('every code of the operators has been provoked', () => {
  const never = (Object.keys(operatorProblems) as OperatorProblemName[]).filter(
    (name) => !provoked.has(name),
  );
  assert.deepEqual(never, []);
});
