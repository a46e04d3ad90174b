import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { audience, makeKey, startProvider } from '../helpers/identity-provider.ts';
import { until } from '../helpers/pause.ts';
import { create, startServer, storePath } from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
import { done, on } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const dayMs = 86_400_000;
const store = await storePath({ after });
const app = await storedToken(store, 'app', { validMs: 90 * dayMs });
const busy = await storedToken(store, 'busy', { rate: { perDay: 1, burst: 1 } });
const operator = await storedToken(store, 'operator', { role: 'operate' });
/** Rotated, and last used so many seconds after that. */
for (const [name, seconds] of Object.entries({ switched: -1, late: 60 })) {
  await storedToken(store, name);
  await done('token', 'rotate', name, ...on(store));
  alterStore(
    store,
    `UPDATE tokens SET last_used_at = rotated_at + ${seconds * 1_000} WHERE name = '${name}' AND rotated_at IS NOT NULL`,
  );
}
const fixed = 'fixed-token-of-the-environment-0123';
const provider = await startProvider({ after }, [await makeKey('key')]);
const rules = ['--jwt-issuer', provider.issuer, '--jwt-audience', audience];
const server = await startServer({ after }, store, rules, { PLANT_STORE_TOKEN: fixed });

function send(token: string, body: string | object): Promise<Response> {
  return create(server.plantsUrl, body, { Authorization: `Bearer ${token}` });
}

/** Asks until the threads, which report once a second, have counted so many. */
async function metricsAfter(creates: number, refused: number) {
  const sumOf = (body: string, metric: string) =>
    [...body.matchAll(new RegExp(`^plant_store_token_${metric}_total.* ([0-9]+)$`, 'gm'))]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
  return until(
    async () => (await fetch(`${server.opsUrl}metrics`)).text(),
    (body) => sumOf(body, 'creates') === creates && sumOf(body, 'refusals') === refused,
  );
}

/** The lines of the metric about the token, without both. */
function linesOf(body: string, metric: string, token: string): string[] {
  const start = `plant_store_token_${metric}{token="${token}"`;
  return body
    .split('\n')
    .filter((line) => line.startsWith(start))
    .map((line) => line.slice(start.length));
}

test('metrics tell what became of the requests of each token, over all threads', async (t) => {
  const beforeMs = Date.now();
  const bodies = [1, 2, 3, 4, 5].map((id) => ({ id, name: 'Alder' }));
  await Promise.all(bodies.map((body) => send(app, body)));
  const others = [
    { id: 1, name: 'Alder' },
    { id: 2, name: 'Birch' },
    { id: 2.5, name: '' },
  ];
  await Promise.all([...others, '{', '{'].map((body) => send(app, body)));
  await Promise.all([6, 6, 6].map((id) => send(busy, { id, name: 'Elm' })));
  assert.equal((await send(operator, { id: 7, name: 'Oak' })).status, 403);
  assert.equal((await send(fixed, { id: 8, name: 'Yew' })).status, 200);
  // A body that breaks HTTP is the client's fault, too.
  const { send: sendRaw, reply } = await connectRaw(t, server.port);
  const fields = { Authorization: `Bearer ${fixed}`, 'Transfer-Encoding': 'chunked' };
  sendRaw(rawRequest('', { fields: { ...fields, 'Content-Length': undefined } }), 'x\r\n');
  assert.equal((await reply()).status, 400);

  const body = await metricsAfter(9, 8);
  assert.deepEqual(linesOf(body, 'creates_total', 'app'), [
    ',outcome="created"} 5',
    ',outcome="same"} 1',
    ',outcome="taken"} 1',
    ',outcome="refused"} 0',
    ',outcome="failed"} 0',
  ]);
  assert.deepEqual(linesOf(body, 'refusals_total', 'app').sort(), [
    ',code="40000"} 2',
    ',code="40002"} 1',
    ',code="40004"} 1',
  ]);
  assert.deepEqual(linesOf(body, 'refusals_total', 'busy'), [',code="42900"} 2']);
  assert.deepEqual(linesOf(body, 'refusals_total', 'operator'), [',code="40300"} 1']);
  assert.deepEqual(linesOf(body, 'creates_total', 'environment')[0], ',outcome="created"} 1');

  const usedAt = Number(linesOf(body, 'last_used_seconds', 'app')[0]?.split(' ')[1]) * 1_000;
  assert(usedAt >= beforeMs && usedAt <= Date.now(), `${usedAt}`);
  const [expires] = linesOf(body, 'expires_seconds', 'app');
  const daysLeft = (Number(expires?.split(' ')[1]) * 1_000 - Date.now()) / dayMs;
  assert(daysLeft > 89 && daysLeft <= 90, `${daysLeft}`);
  assert.deepEqual(linesOf(body, 'expires_seconds', 'busy'), []);
});

test('metrics tell the end of an old secret only if it was used after its rotation', async () => {
  const body = await metricsAfter(9, 8);
  const secondsOf = (metric: string, token: string) =>
    Number(linesOf(body, `old_secret_${metric}_seconds`, token)[0]?.split(' ')[1]);
  const graceSeconds = secondsOf('expires', 'late') - secondsOf('last_used', 'late') + 60;
  assert(Math.abs(graceSeconds - 86_400) < 1, `${graceSeconds}`);
  assert.deepEqual(linesOf(body, 'old_secret_expires_seconds', 'switched'), []);
});

test('metrics tell what became of the requests of a subject, whatever token it has', async () => {
  const sendAs = async (body: object | string) =>
    (await send(await provider.token('gardener'), body)).status;
  for (const id of [101, 102]) assert.equal(await sendAs({ id, name: 'Fir' }), 200);
  assert.equal(await sendAs('{'), 400);
  const name = `${provider.issuer} gardener`;
  const body = await metricsAfter(9 + 2, 8 + 1);
  assert.deepEqual(linesOf(body, 'creates_total', name)[0], ',outcome="created"} 2');
  assert.deepEqual(linesOf(body, 'refusals_total', name), [',code="40000"} 1']);
});
