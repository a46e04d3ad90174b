import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { untilInForce } from '../helpers/pause.ts';
import {
  type Ended,
  type Owner,
  oneThread,
  type RunningServer,
  startServer,
  storePath,
} from '../helpers/program.ts';
import { connectRaw, type RawRequest, rawRequest } from '../helpers/raw.ts';
import { done, doneRecords, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

/** What every server of this file has printed, and what none of them may ever print. */
const printed: (() => string)[] = [];
const secrets = new Set<string>();

function secret(text: string): string {
  secrets.add(text);
  return text;
}

type Variables = Readonly<Record<string, string>>;
/**
 * As talkative as it can be. Unless `variables` give it one, it has no token but those of the
 * store.
 */
async function start(
  t: Owner,
  store: string,
  variables: Variables = {},
  ...args: string[]
): Promise<RunningServer> {
  const server = await startServer(t, store, ['--log-level', 'debug', ...args], variables);
  printed.push(() => server.stdout() + server.stderr());
  return server;
}

function tokenCommand(store: string, ...args: string[]): Promise<Ended> {
  return runHere(['token', ...args, ...on(store)]);
}

/** For tests that do not make the token itself. */
async function createToken(
  store: string,
  name: string,
  wish?: Parameters<typeof storedToken>[2],
): Promise<string> {
  return secret(await storedToken(store, name, wish));
}

/** The cells of each line that `token list` prints for the name. */
async function listed(store: string, name: string): Promise<readonly string[][]> {
  const { stdout } = await done('token', 'list', ...on(store));
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  return rows.filter(([first]) => first === name);
}

async function column(store: string, name: string, cell: number): Promise<unknown[]> {
  return (await listed(store, name)).map((row) => row[cell]);
}

/** Each on a connection of its own, so that every thread of the server gets some. */
async function statusWith(server: RunningServer, token: string): Promise<number | undefined> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const outgoing = request(server.plantsUrl, { method: 'POST', agent: false, headers });
  outgoing.end('{"id":1,"name":"Alder"}');
  const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
  await text(reply);
  return reply.statusCode;
}

/** Requests until each of two threads has answered one. They miss a thread once in 2^19 times. */
const everyThread = 20;

/** Until every thread answers with the status. */
function untilAll(
  server: RunningServer,
  token: string,
  before: number,
  status: number,
  withinMs = 60_000,
) {
  return untilInForce(() => statusWith(server, token), before, status, {
    inRow: everyThread,
    withinMs,
  });
}

/** Within which a change is in force. */
const inForceMs = 2_000;

/** With the tokens that it knows from its start, for the tests that leave it as it is. */
const store = await storePath({ after });
const leaver = await createToken(store, 'leaver');
const stayer = await createToken(store, 'stayer');
const server = await start({ after }, store);

test('the first start makes a token, keeps it in a file for the owner only, and shows where it is but not the token; there is no other first one, though all are revoked and the file is gone', async (t) => {
  const store = await storePath(t);
  const file = join(store, '..', 'first-start.token');
  const asText = [...oneThread, '--log-format', 'text'];
  const first = await start(t, store, {}, ...asText);
  const content = await readFile(file, 'utf8');
  assert.match(content, /^ps_[A-Za-z0-9_-]{43}\n$/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const token = secret(content.trimEnd());
  assert.equal(await statusWith(first, token), 200);
  assert(first.stdout().includes(`$(cat ${file})`), first.stdout());
  assert.equal(await first.stop(), 0);
  const [row] = await listed(store, 'first-start');
  assert.deepEqual(row?.slice(0, 3), ['first-start', 'create', 'valid']);
  assert.match((await tokenCommand(store, 'list', '--json')).stdout, /"createdBy":"first start"/);

  await rm(file);
  assert.equal((await tokenCommand(store, 'revoke', 'first-start')).code, 0);
  const second = await start(t, store, {}, ...asText);
  assert.equal(await statusWith(second, token), 401);
  assert(!existsSync(file));
  assert.match(second.stdout(), /token create/);
});

test('a new token is printed once and alone, and every thread of a running server admits its first request', async () => {
  const { code, stdout, stderr } = await tokenCommand(store, 'create', 'newcomer');

  assert.equal(code, 0);
  assert.match(stdout, /^ps_[A-Za-z0-9_-]{43}\n$/);
  const token = secret(stdout.trimEnd());
  assert(!stderr.includes(token));
  for (let request = 0; request < everyThread; request += 1)
    assert.equal(await statusWith(server, token), 200);
  const list = await tokenCommand(store, 'list');
  assert.match(list.stdout, /^newcomer +create +valid /m);
  assert(!list.stdout.includes(token.slice(3)));
});

test('a revoked token is refused by a running server within 2 seconds, and other tokens stay valid', async () => {
  assert.equal(await statusWith(server, leaver), 200);

  assert.equal((await tokenCommand(store, 'revoke', 'leaver')).code, 0);

  await untilAll(server, leaver, 200, 401, inForceMs);
  assert.equal(await statusWith(server, stayer), 200);
  assert.equal((await listed(store, 'leaver'))[0]?.[2], 'revoked');
  assert.equal((await tokenCommand(store, 'revoke', 'leaver')).code, 1);
  assert.equal((await tokenCommand(store, 'revoke', 'nobody')).code, 1);
});

test('a rotated token has a new secret and, for the grace, the old one; both have its rate, and revoking the name ends both', async () => {
  const made = await tokenCommand(store, 'create', 'turning', '--rate', '3/d', '--expires', '90d');
  const old = secret(made.stdout.trimEnd());
  assert.equal(await statusWith(server, old), 200);
  const { code, stdout, stderr } = await tokenCommand(store, 'rotate', 'turning', '--json');
  assert.equal(code, 0, stderr);
  const { token, ...rest } = JSON.parse(stdout);
  assert.match(secret(token), /^ps_[A-Za-z0-9_-]{43}$/);
  const { name, role, rate, burst } = rest;
  assert.deepEqual([name, role, rate, burst], ['turning', 'create', '3/d', 3]);
  const aheadMs = (time: string) => Date.parse(time) - Date.now();
  const [lifeMs, graceMs] = [aheadMs(rest.expiresAt), aheadMs(rest.previousUntil)];
  assert(lifeMs > 89.9 * 86_400_000 && lifeMs <= 90 * 86_400_000, `${lifeMs}`);
  assert(graceMs > 86_300_000 && graceMs <= 86_400_000, `${graceMs}`);
  assert(stderr.includes(`The old secret stays in force until ${rest.previousUntil}.`), stderr);

  const statuses = [];
  for (const one of [token, old, token, old]) statuses.push(await statusWith(server, one));
  assert.deepEqual(statuses, [200, 200, 429, 429], 'the first create was before the rotation');
  assert.deepEqual(await column(store, 'turning', 2), ['valid', 'rotated']);

  const says =
    /two secrets in force.* ends at .*; rotate again after .* with a grace of 0, which ends both/;
  await refused(says, 'token', 'rotate', 'turning', ...on(store));
  const revoked = await tokenCommand(store, 'revoke', 'turning', '--json');
  const { revokedAt, ...more } = JSON.parse(revoked.stdout);
  assert.deepEqual(more, { name: 'turning' });
  assert.deepEqual(await column(store, 'turning', 4), [revokedAt, revokedAt]);
  const records = await doneRecords('token', 'list', ...on(store));
  for (const one of records.filter(({ name }) => name === 'turning'))
    assert.deepEqual([one.state, one.revokedAt], ['revoked', revokedAt]);
  for (const one of [old, token]) await untilAll(server, one, 429, 401);
  const gone = /there is no token named "turning" that could be rotated/;
  await refused(gone, 'token', 'rotate', 'turning', ...on(store));
  const twice = /there is no token named turning that is not revoked; /;
  await refused(twice, 'token', 'revoke', 'turning', ...on(store));
});

test('a rotation with a grace of 0 ends the old secret at once, and can set another life', async () => {
  const old = await createToken(store, 'leaked');
  assert.equal(await statusWith(server, old), 200);
  const args = ['rotate', 'leaked', '--grace', '0', '--expires', '1h'];
  const rotated = await tokenCommand(store, ...args);
  const says = /valid until 20.*Running services refuse the old secret within 2/;
  assert.match(rotated.stderr, says);
  assert.equal(await statusWith(server, secret(rotated.stdout.trimEnd())), 200);
  await untilAll(server, old, 200, 401);
  assert.deepEqual(await column(store, 'leaked', 2), ['valid', 'revoked']);
  const wrong = await tokenCommand(store, 'rotate', 'leaked', '--grace', '91d');
  failed(wrong, /--grace must be 0, or a time .* at most 90d; it is/, 2);
});

test('token list tells which token has expired, and with --json who made and who revoked each secret', async () => {
  await createToken(store, 'guest');
  alterStore(store, "UPDATE tokens SET expires_at = 1 WHERE name = 'guest'");
  assert.deepEqual(await column(store, 'guest', 2), ['expired']);
  secret((await tokenCommand(store, 'create', 'made')).stdout.trimEnd());
  secret((await tokenCommand(store, 'rotate', 'made', '--grace', '0')).stdout.trimEnd());
  assert.equal((await tokenCommand(store, 'revoke', 'made')).code, 0);
  const records = await doneRecords('token', 'list', ...on(store));
  const made = records.filter(({ name }) => name === 'made');
  const by = `command line (${userInfo().username})`;
  const persons = made.map(({ createdBy, revokedBy }) => [createdBy, revokedBy]);
  assert.deepEqual(persons, Array(2).fill([by, by]));
});

test('when a token was last used is written down by the time the server has stopped', async () => {
  const [used] = [await createToken(store, 'used'), await createToken(store, 'unused')];
  const before = Date.now();
  assert.equal(await statusWith(server, used), 200);
  const after = Date.now();
  assert.equal(await server.stop(), 0);

  const lastUsed = (await listed(store, 'used'))[0]?.[5] ?? '';
  assert(Date.parse(lastUsed) >= before && Date.parse(lastUsed) <= after, lastUsed);
  assert.equal((await listed(store, 'unused'))[0]?.[5], 'never');
});

const fixed = secret('fixed/token~of+the.environment_32-chars==');
const fixedStore = await storePath({ after });
const withFixed = await start({ after }, fixedStore, { PLANT_STORE_TOKEN: fixed }, ...oneThread);

test('with a fixed token there is no first one, and the store holds none', async () => {
  assert.equal(await statusWith(withFixed, fixed), 200);
  assert.equal(await statusWith(withFixed, fixed.slice(0, -1)), 401);
  assert(!existsSync(join(fixedStore, '..', 'first-start.token')));
  assert.deepEqual(await listed(fixedStore, 'first-start'), []);
  const { stdout } = await done('plants', 'list', ...on(fixedStore));
  assert.match(stdout, /"createdBy":"environment"/);
});

test('no server has printed a token, nor an Authorization header that it refused', async (t) => {
  const hidden = (text: string) => `${secret(text)}`;
  const bearer = (text: string) => `Bearer ${secret(text)}`;
  const requests: readonly RawRequest[] = [
    { fields: { Authorization: bearer('unknown-token-1') } },
    { fields: { Authorization: bearer('malformed token-2') } },
    { fields: { Authorization: ['doubled-token-3', 'doubled-token-4'].map(bearer) } },
    { fields: { Authorization: `Basic ${hidden('cGFzc3dvcmQ6NQ==')}` } },
    { fields: { Authorization: hidden('no-scheme-token-6') } },
    { target: `/plants?access_token=${hidden('query-token-7')}` },
    { target: `/nowhere/${hidden('path-token-8')}` },
    { fields: { Authorization: `${bearer('large-token-9')}${'x'.repeat(20_000)}` } },
    { fields: { 'Authorization ': bearer('parser-token-10') } },
    { fields: { Host: `user:${hidden('host-token-11')}@localhost` } },
    { fields: { Authorization: bearer('\u0001-token-12') } },
  ];
  const ids: string[] = [];
  for (const request of requests) {
    const connection = await connectRaw(t, withFixed.port);
    connection.send(rawRequest('{"id":1,"name":"Alder"}', request));
    const reply = await connection.reply();
    assert(reply.status >= 400);
    ids.push(reply.headers.get('x-request-id') ?? assert.fail());
    for (const text of secrets) assert(!reply.body.includes(text), reply.body);
  }

  await withFixed.logged(() => ids.every((id) => withFixed.stderr().includes(`"${id}"`)));
  assert.equal(printed.length, 4);
  for (const output of printed)
    for (const text of secrets) assert(!output().includes(text), `${text} in: ${output()}`);
});
