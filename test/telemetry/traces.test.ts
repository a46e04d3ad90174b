import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { startCollector, valuesOf } from '../helpers/collector.ts';
import { freePort } from '../helpers/free-port.ts';
import { create, oneThread, startServer, storePath, token } from '../helpers/program.ts';

const collector = await startCollector({ after });
const variables = {
  PLANT_STORE_TOKEN: token,
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=garden',
};
const exporting = [...oneThread, '--otlp-endpoint', collector.endpoint, '--log-level', 'debug'];
const server = await startServer({ after }, await storePath({ after }), exporting, variables);

function newParent(flags = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, header: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

let lastId = 0;
const newPlant = () => ({ id: (lastId += 1), name: 'Alder' });

test('a create with a sampled parent is a span with its children, in the order of time', async () => {
  const { traceId, spanId, header } = newParent();
  const reply = await create(server.plantsUrl, newPlant(), header);
  assert.equal(reply.status, 200);
  const spans = await collector.spansOf(traceId, 4);
  const [own, receive, wait, commit] = ['POST /plants', 'receive', 'wait', 'commit'].map((name) =>
    spans.get(name),
  );
  assert.equal(own?.parentSpanId, spanId);
  assert.deepEqual(valuesOf(own), {
    'http.request.method': 'POST',
    'http.route': '/plants',
    'url.path': '/plants',
    'url.scheme': 'http',
    'client.address': '127.0.0.1',
    'http.response.header.x-request-id': [reply.headers.get('x-request-id')],
    'http.response.status_code': 200,
  });
  assert.equal(valuesOf(commit)['db.system.name'], 'sqlite');
  for (const child of [receive, wait, commit]) assert.equal(child?.parentSpanId, own?.spanId);
  const moments = [receive?.startTimeUnixNano, wait?.startTimeUnixNano, commit?.endTimeUnixNano];
  assert.deepEqual(moments, moments.toSorted());
  assert.equal(collector.headers()['x-tenant'], 'garden');
});

test('a create whose parent is not sampled or malformed has no span, and its plant is stored', async () => {
  const { traceId, header } = newParent('00');
  const { traceparent } = newParent().header;
  for (const value of [header.traceparent, `ff${traceparent.slice(2)}`, ''])
    assert.equal((await create(server.plantsUrl, newPlant(), { traceparent: value })).status, 200);
  const next = newParent();
  await create(server.plantsUrl, newPlant(), next.header);
  await collector.spansOf(next.traceId, 4);
  assert.equal((await collector.spansOf(traceId, 0)).size, 0);
});

test('a refused create ends its span with the code, and without a valid token there is no span', async () => {
  const [refused, unknown] = [newParent(), newParent()];
  const headers = { ...unknown.header, Authorization: `Bearer ${token}x` };
  assert.equal((await create(server.plantsUrl, newPlant(), headers)).status, 401);
  assert.equal((await create(server.plantsUrl, '{', refused.header)).status, 400);
  const spans = await collector.spansOf(refused.traceId, 2);
  const { 'http.response.status_code': status, 'plant_store.error.code': code } = valuesOf(
    spans.get('POST /plants'),
  );
  assert.deepEqual([status, code], [400, 40000]);
  assert.equal((await collector.spansOf(unknown.traceId, 0)).size, 0);
  await server.logged((log) => log.includes(`"trace_id":"${unknown.traceId}"`));
});

test('a collector that is away slows no create and no stop, and the log says so', async (t) => {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const args = [...oneThread, '--otlp-endpoint', endpoint];
  const alone = await startServer(t, await storePath(t), args, {
    ...variables,
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  });
  assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
  await alone.logged((log) => log.includes('spans cannot be exported'));
  assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
  assert.equal((await fetch(`${alone.opsUrl}readyz`)).status, 200);
  assert.equal(await alone.stop(), 0);
});

test('the last spans are sent when the service stops', async () => {
  const { traceId, header } = newParent();
  await create(server.plantsUrl, newPlant(), header);
  assert.equal(await server.stop(), 0);
  assert.equal((await collector.spansOf(traceId, 0)).size, 4);
});
