import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { sabotaging } from '../helpers/faults.ts';
import {
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  takesNoCode,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

/** @returns the cookie of a session */
async function signIn({ opsUrl }: RunningServer, token: string): Promise<string> {
  const reply = await fetch(`${opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  assert.equal(reply.status, 200);
  return reply.headers.get('Set-Cookie')?.split(';')[0] ?? assert.fail('no cookie');
}

const plants = 30_000;
const store = await storePath({ after });
makeStore(store, plants);
// By turns, the plants are of the years 1970 to 1979. The journal of arrivals begins after them.
alterStore(
  store,
  `UPDATE plants SET created_at = (id % 10) * 366 * 86400000, created_by = -(id % 2);
   INSERT INTO arrivals (created_at, ids) VALUES (${Date.now()}, x'')`,
);
const token = await storedToken(store, 'alice', { role: 'operate' });
const server = await startServer({ after }, store, oneThread);
const cookie = await signIn(server, token);

const fetchExport = (query: string, method = 'GET') =>
  fetch(`${server.opsUrl}api/plants/export?${query}`, { method, headers: { Cookie: cookie } });

test('with details, each plant has its time and its token', async () => {
  const fileOf = async (format: string) =>
    (await fetchExport(`format=${format}&details=true&name=x29999`)).text();
  const at = new Date(9 * 366 * 86_400_000).toISOString();
  const [head, row] = (await fileOf('csv')).split('\r\n');
  assert.equal(head, 'id,name,tag,createdAt,createdBy');
  assert.match(row ?? '', new RegExp(`^29999,.*x29999.*,odd,${at},import$`));
  const { id, createdAt, createdBy } = JSON.parse(await fileOf('ndjson'));
  assert.deepEqual({ id, createdAt, createdBy }, { id: 29999, createdAt: at, createdBy: 'import' });
  const wrong = await fetchExport('format=csv&details=yes');
  assert.deepEqual(
    [wrong.status, ((await wrong.json()) as { message: string }).message],
    [400, '`details` must be true or false.'],
  );
});

for (const [format, type] of [
  ['ndjson', 'application/x-ndjson'],
  ['csv', 'text/csv; charset=utf-8; header=present'],
] as const) {
  test(`all plants as ${format} are the file that \`export\` writes`, async () => {
    const reply = await fetchExport(`format=${format}`);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('Content-Type'), type);
    assert.match(
      reply.headers.get('Content-Disposition') ?? '',
      new RegExp(`^attachment; filename="plants-\\d{4}-\\d\\d-\\d\\dT\\d{6}Z\\.${format}"$`),
    );
    assert.equal(reply.headers.get('Cache-Control'), 'no-store');
    const file = join(dirname(store), `exported.${format}`);
    assert.equal((await runHere(['export', file, '--store', `sqlite:${store}`])).code, 0);
    const exported = readFileSync(file, 'utf8');
    assert(exported.split('\n').length > plants);
    assert.equal(await reply.text(), exported);
  });
}

const idsOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: number }).id);

test('an export has what is filtered, in either order', async () => {
  const query =
    'name=x29&tag=odd&createdBy=import&since=1973-01-01T00:00:00Z&until=1977-01-01T02:00:00%2B02:00';
  const byId = idsOf(await (await fetchExport(query)).text());
  const wanted = Array.from({ length: plants }, (_, index) => index + 1).filter(
    (id) => `${id}`.startsWith('29') && id % 2 === 1 && id % 10 >= 3 && id % 10 < 7,
  );
  assert.deepEqual(byId, wanted);
  const newest = idsOf(await (await fetchExport(`order=newest&${query}`)).text());
  assert.deepEqual(
    newest.toSorted((a, b) => a - b),
    wanted,
  );
});

test('an export without a match is an empty file, and CSV still names its columns', async () => {
  assert.equal(await (await fetchExport('name=none')).text(), '');
  assert.equal(await (await fetchExport('name=none&format=csv')).text(), 'id,name,tag\r\n');
});

test('an export that asks for what there cannot be is refused', async () => {
  for (const query of ['format=xml', 'since=now', 'order=none']) {
    const reply = await fetchExport(query);
    assert.deepEqual(
      [reply.status, ((await reply.json()) as { error: number }).error],
      [400, 40051],
    );
  }
});

test('a HEAD has the head of an export, as often as one likes', async () => {
  for (let requests = 0; requests <= limits.ops.exportsMax; requests += 1) {
    const { status, headers } = await fetchExport('format=csv', 'HEAD');
    assert.equal(status, 200);
    assert.match(headers.get('Content-Disposition') ?? '', /\.csv"$/);
  }
});

test('an export breaks off when its operator signs out', { skip: takesNoCode }, async (t) => {
  const store = await storePath(t);
  // More than the buffers between the service and the client hold.
  makeStore(store, 200, 100_000);
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const often = sabotaging('sessions are looked up often');
  const server = await startServer(t, store, oneThread, often);
  const headers = { Cookie: await signIn(server, token) };
  const asked = get(`${server.opsUrl}api/plants/export`, { headers });
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  assert.equal(reply.statusCode, 200);
  await fetch(`${server.opsUrl}api/session`, { method: 'DELETE', headers });
  await assert.rejects(text(reply), { code: 'ECONNRESET' });
  await server.logged((stderr) => stderr.includes('the session of an export has ended'));
});
