import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { version } from '../../src/program.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { openTraces } from '../../src/telemetry/traces.ts';
import { startCollector, valuesOf } from '../helpers/collector.ts';
import { untilReady } from '../helpers/operators.ts';
import { create, oneThread, startServer, storePath, token } from '../helpers/program.ts';

const collector = await startCollector({ after });
const variables = {
  PLANT_STORE_TOKEN: token,
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=garden',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=greenhouse',
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
  assert.equal(collector.headers()['x-tenant'], 'garden');
  const resource = valuesOf(collector.resource());
  const names = ['service.name', 'service.version', 'deployment.environment.name'];
  assert.deepEqual(
    names.map((name) => resource[name]),
    ['plant-store', version, 'greenhouse'],
  );
});

test('the spans of a create have times of one clock, in their order and each with its duration', async () => {
  const parents = Array.from({ length: 20 }, () => newParent());
  for (const { header } of parents) await create(server.plantsUrl, newPlant(), header);
  for (const { traceId } of parents) {
    const spans = await collector.spansOf(traceId, 4);
    const [own, receive, wait, commit] = ['POST /plants', 'receive', 'wait', 'commit'].map(
      (name) => {
        const { startTimeUnixNano = 0, endTimeUnixNano = 0 } = spans.get(name) ?? {};
        return { start: Number(startTimeUnixNano), end: Number(endTimeUnixNano) };
      },
    );
    assert(own && receive && wait && commit);
    const moments = [receive.end, wait.start, wait.end, commit.start, commit.end, own.end];
    const ordered = [own.start, receive.start, ...moments];
    assert.deepEqual(ordered, ordered.toSorted());
    assert.equal(own.start, receive.start);
    assert.equal(wait.end, commit.start);
    for (const { start, end } of [own, receive, wait, commit]) assert(end > start);
  }
  assert.doesNotMatch(server.stderr(), /OpenTelemetry|exported/);
});

test('the variables of OpenTelemetry choose the sampler, or export nothing', async (t) => {
  const choice = { OTEL_TRACES_SAMPLER: 'always_on', OTEL_TRACES_EXPORTER: 'zipkin' };
  const all = await startServer(t, await storePath(t), exporting, { ...variables, ...choice });
  await all.logged((log) => log.includes('OTEL_TRACES_EXPORTER is zipkin'));
  const { traceId, spanId, header } = newParent('00');
  assert.equal((await create(all.plantsUrl, newPlant(), header)).status, 200);
  const spans = await collector.spansOf(traceId, 4);
  assert.equal(spans.get('POST /plants')?.parentSpanId, spanId);

  const service = { basePath: '', tls: undefined, dbSystem: 'sqlite' };
  const quiet = { warn() {} } as unknown as Log;
  for (const [name, value] of [
    ['OTEL_SDK_DISABLED', 'TRUE'],
    ['OTEL_TRACES_EXPORTER', 'none'],
  ] as const) {
    process.env[name] = value;
    assert.equal(openTraces(collector.endpoint, service, quiet), undefined);
    delete process.env[name];
  }
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
  // The kernel gives no program this port.
  const endpoint = 'http://127.0.0.1:1';
  const args = [...oneThread, '--otlp-endpoint', endpoint];
  const alone = await startServer(t, await storePath(t), args, {
    ...variables,
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  });
  assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
  await alone.logged((log) => log.includes('spans could not be exported'));
  assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
  await untilReady(alone);
  assert.equal(await alone.stop(), 0);
});

test('the last spans are sent when the service stops', async () => {
  const { traceId, header } = newParent();
  await create(server.plantsUrl, newPlant(), header);
  assert.equal(await server.stop(), 0);
  assert.equal((await collector.spansOf(traceId, 0)).size, 4);
});
