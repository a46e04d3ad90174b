import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { type ReceivedSpan, startCollector, valuesOf } from '../helpers/collector.ts';
import { sabotaging, statusAndCode } from '../helpers/faults.ts';
import { freePort } from '../helpers/free-port.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  type RunningServer,
  startServer,
  startServerOnNewStore,
  storePath,
  takesNoCode,
  token,
} from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
import { runHere } from '../helpers/run-here.ts';
import { lockStore } from '../helpers/store-file.ts';

const collector = await startCollector({ after });
const exporting = ['--otlp-endpoint', collector.endpoint];
const debug = [...oneThread, '--log-level', 'debug'];
const server = await startServerOnNewStore({ after }, ...debug, ...exporting);

interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly header: Readonly<Record<'traceparent', string>>;
}

function newParent(flags = '01'): Parent {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, header: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

let lastId = 0;
const newPlant = () => ({ id: (lastId += 1), name: 'Alder' });

/** The spans of a trace: those of the server, and its children by name. */
async function spansOf({ traceId }: Parent, count: number) {
  const own = () => collector.spans.filter((span) => span.traceId === traceId);
  while (own().length < count) await collector.nextRequest();
  assert.equal(own().length, count);
  const [server, ...children] = own() as [ReceivedSpan, ...ReceivedSpan[]];
  for (const { parentSpanId } of children) assert.equal(parentSpanId, server.spanId);
  assert.equal(new Set(own().map(({ spanId }) => spanId)).size, count);
  const names = children.map(({ name }) => name);
  return { server, names, byName: new Map(children.map((span) => [span.name, span])) };
}

/** After the spans of a later create have come. */
async function assertUntraced({ traceId }: Parent): Promise<void> {
  const next = newParent();
  await create(server.plantsUrl, newPlant(), next.header);
  await spansOf(next, 4);
  assert(!collector.spans.some((span) => span.traceId === traceId));
}

const failed = { code: 2 };

const metricsOf = async ({ opsUrl }: RunningServer) => (await fetch(`${opsUrl}metrics`)).text();

async function spanCounts(server: RunningServer) {
  const text = await metricsOf(server);
  const count = (outcome: string) =>
    Number(
      new RegExp(`^plant_store_spans_total\\{outcome="${outcome}"\\} (.+)$`, 'm').exec(text)?.[1],
    );
  return { exported: count('exported'), dropped: count('dropped') };
}

// At a time: spans come once a second.
describe('traces', { concurrency: true }, () => {
  test('a create with a sampled parent is a span with its children, in the order of time', async () => {
    const parent = newParent();
    const sentMs = Date.now();
    const reply = await create(server.plantsUrl, newPlant(), parent.header);
    assert.equal(reply.status, 200);
    const repliedMs = Date.now();

    const { server: span, names, byName } = await spansOf(parent, 4);
    assert.deepEqual(
      [span.name, span.kind, span.flags, span.status],
      ['POST /plants', 2, 0x301, {}],
    );
    assert.equal(span.parentSpanId, parent.spanId);
    assert.deepEqual(valuesOf(span), {
      'http.request.method': 'POST',
      'http.route': '/plants',
      'url.path': '/plants',
      'url.scheme': 'http',
      'client.address': '127.0.0.1',
      'http.response.status_code': 200,
      'http.response.header.x-request-id': [reply.headers.get('x-request-id')],
    });
    assert.deepEqual(names, ['receive', 'wait', 'commit']);
    const { kind, flags } = byName.get('commit') as ReceivedSpan;
    assert.deepEqual([kind, flags], [3, 0x101]);
    const { 'db.operation.batch.size': plants, ...db } = valuesOf(
      byName.get('commit') as ReceivedSpan,
    );
    assert.deepEqual(db, {
      'db.system.name': 'sqlite',
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
    });
    // Only for several: those of other tests may be in the transaction.
    assert(plants === undefined || Number(plants) > 1);

    const of = (name: string) => byName.get(name) as ReceivedSpan;
    const moments = [
      span.startTimeUnixNano,
      of('receive').endTimeUnixNano,
      of('wait').startTimeUnixNano,
      of('wait').endTimeUnixNano,
      of('commit').endTimeUnixNano,
      span.endTimeUnixNano,
    ].map(BigInt);
    assert.deepEqual(
      moments,
      moments.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
    assert.equal(of('commit').startTimeUnixNano, of('wait').endTimeUnixNano);
    assert(
      Number(moments.at(0)) >= sentMs * 1e6 && Number(moments.at(-1)) <= (repliedMs + 1) * 1e6,
    );
  });

  test('a create whose parent is not sampled or malformed has no span', async () => {
    const [unsampled, malformed] = [newParent('00'), newParent()];
    const { traceparent } = malformed.header;
    for (const value of [
      unsampled.header.traceparent,
      traceparent.toUpperCase(),
      `ff${traceparent.slice(2)}`,
      `${traceparent}, ${traceparent}`,
      '',
    ])
      assert.equal(
        (await create(server.plantsUrl, newPlant(), { traceparent: value })).status,
        200,
      );
    await assertUntraced(unsampled);
    await assertUntraced(malformed);
  });

  test('two traceparents are no parent', async (t) => {
    const [first, second] = [newParent(), newParent()];
    const traceparent = [first, second].map(({ header }) => header.traceparent);
    const connection = await connectRaw(t, server.port);
    connection.send(rawRequest('{', { fields: { traceparent } }));
    const requestId = (await connection.reply()).headers.get('x-request-id') ?? '';
    await server.logged((log) => log.includes(requestId));
    const line = server
      .stderr()
      .split('\n')
      .find((one) => one.includes(requestId));
    assert(line && !line.includes('trace_id'), line ?? '');
  });

  test('a refused create is a span with the code of its error, and its log line names the span', async () => {
    const body = newPlant();
    await create(server.plantsUrl, body);
    const parent = newParent();
    const reply = await create(server.plantsUrl, { ...body, name: 'Birch' }, parent.header);
    assert.deepEqual(await statusAndCode(reply), [400, 40004]);
    const { server: span } = await spansOf(parent, 4);
    assert.equal(valuesOf(span)['plant_store.error.code'], 40004);
    // The mistake of a client is no error of a server (semantic conventions for HTTP).
    assert.deepEqual(span.status, {});
    const fields = `"trace_id":"${parent.traceId}","span_id":"${span.spanId}","trace_flags":"01"`;
    await server.logged((log) => log.includes(fields));

    const early = newParent();
    assert.equal((await create(server.plantsUrl, '{', early.header)).status, 400);
    assert.deepEqual((await spansOf(early, 2)).names, ['receive']);
  });

  test('a create without a valid token has no span, and its log line names the span of the client', async () => {
    const parent = newParent();
    const headers = { ...parent.header, Authorization: 'Bearer wrong' };
    assert.equal((await create(server.plantsUrl, newPlant(), headers)).status, 401);
    const fields = `"trace_id":"${parent.traceId}","span_id":"${parent.spanId}","trace_flags":"01"`;
    await server.logged((log) => log.includes(fields));
    await assertUntraced(parent);
  });

  test('a create of a client that has left before the whole request came ends with an error', async (t) => {
    const parent = newParent();
    const connection = await connectRaw(t, server.port);
    const fields = { ...parent.header, Expect: '100-continue' };
    connection.send(rawRequest(JSON.stringify(newPlant()), { fields }).subarray(0, -5));
    // The service has read the head.
    assert.equal((await connection.reply()).status, 100);
    connection.socket.resetAndDestroy();
    const { server: span, names } = await spansOf(parent, 2);
    assert.deepEqual(names, ['receive']);
    assert.equal(valuesOf(span)['error.type'], 'client_closed');
    assert.equal(valuesOf(span)['http.response.status_code'], undefined);
    assert.deepEqual(span.status, failed);
  });

  test('while the store takes no plants, the span and its commit are errors', async (t) => {
    const slow = await startServerOnNewStore(t, ...exporting, '--commit-timeout', '300ms');
    lockStore(t, slow.store);
    const parent = newParent();
    const reply = await create(slow.plantsUrl, newPlant(), parent.header);
    assert.deepEqual(await statusAndCode(reply), [503, 50301]);
    const { server: span, byName } = await spansOf(parent, 4);
    const { 'error.type': type, 'plant_store.error.code': code } = valuesOf(span);
    assert.deepEqual([type, code, span.status], ['503', 50301, failed]);
    const commit = byName.get('commit') as ReceivedSpan;
    assert.equal(valuesOf(commit)['error.type'], 'unavailable');
    assert.deepEqual(commit.status, failed);
    const seconds = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e9;
    assert(seconds >= 0.29 && seconds < 5, `${seconds}`);
  });

  test('a create of a client that has left meanwhile ends when it is known what has become of the plant', async (t) => {
    const waiting = await startServerOnNewStore(t, ...oneThread, ...exporting);
    const { release } = lockStore(t, waiting.store);
    const parent = newParent();
    const connection = await connectRaw(t, waiting.port);
    const body = JSON.stringify(newPlant());
    connection.send(rawRequest(body, { fields: { ...parent.header } }));
    while (!(await metricsOf(waiting)).includes('plant_store_queue_plants 1')) await pause();
    connection.socket.resetAndDestroy();
    while (!(await metricsOf(waiting)).includes('plant_store_connections 0')) await pause();
    release();
    const { server: span, names } = await spansOf(parent, 4);
    assert.deepEqual(names, ['receive', 'wait', 'commit']);
    assert.equal(valuesOf(span)['error.type'], 'client_closed');
  });

  test('the last spans are sent when the service stops', async (t) => {
    const stopping = await startServerOnNewStore(t, ...exporting);
    const parent = newParent();
    await create(stopping.plantsUrl, newPlant(), parent.header);
    assert.equal(await stopping.stop(), 0);
    assert.equal(collector.spans.filter(({ traceId }) => traceId === parent.traceId).length, 4);
  });

  test('a collector that is away slows no create and no stop; the log says so once, and the service stays ready', async (t) => {
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    const alone = await startServerOnNewStore(t, '--otlp-endpoint', endpoint);
    assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
    await alone.logged((log) => log.includes('spans cannot be exported'));
    assert.equal((await create(alone.plantsUrl, newPlant(), newParent().header)).status, 200);
    assert.equal((await fetch(`${alone.opsUrl}readyz`)).status, 200);
    assert.deepEqual(await spanCounts(alone), { exported: 0, dropped: 0 });
    assert.equal(await alone.stop(), 0);
    assert.equal(alone.stderr().split('spans cannot be exported').length, 2);
    assert.match(alone.stderr(), /"dropped":8,"msg":"the last spans are lost"/);
  });

  test('beyond the bounds of a thread spans are dropped, and counted', {
    skip: takesNoCode,
  }, async (t) => {
    const args = [...oneThread, ...exporting];
    const small = await startServer(t, await storePath(t), args, sabotaging('few spans are kept'));
    const parents = Array.from({ length: 5 }, () => newParent());
    const replies = parents.map(({ header }) => create(small.plantsUrl, newPlant(), header));
    for (const reply of await Promise.all(replies)) assert.equal(reply.status, 200);
    while ((await spanCounts(small)).exported === 0) await pause();
    const { exported, dropped } = await spanCounts(small);
    assert(dropped > 0 && exported % 4 === 0, `${exported} exported, ${dropped} dropped`);
  });

  test('without the flag there is no metric of spans, and the log has the ids of the client', async (t) => {
    const plain = await startServerOnNewStore(t, ...debug);
    const parent = newParent('00');
    const headers = { ...parent.header, Authorization: `Bearer ${token}x` };
    assert.equal((await create(plain.plantsUrl, newPlant(), headers)).status, 401);
    const fields = `"trace_id":"${parent.traceId}","span_id":"${parent.spanId}","trace_flags":"00"`;
    await plain.logged((log) => log.includes(fields));
    assert(!(await metricsOf(plain)).includes('plant_store_spans'));
  });

  test('doctor asks the collector', async (t) => {
    const check = async (...flags: string[]) => {
      const at = ['--store', `sqlite:${server.store}`];
      const { stdout } = await runHere(['doctor', '--json', ...at, ...flags]);
      return stdout.split('\n').find((line) => line.includes('"collector"'));
    };
    assert.equal(await check(), undefined);
    const ok = `{"check":"collector","level":"ok","says":"${collector.tracesUrl} takes spans"}`;
    assert.equal(await check(...exporting), ok);
    const away = await startCollector(t);
    away.close();
    assert.match(
      (await check('--otlp-endpoint', away.endpoint)) ?? '',
      /"level":"warning".*ECONNREFUSED/,
    );
  });

  test('an endpoint that is no base URL of HTTP is refused', async () => {
    for (const endpoint of [
      'localhost:4318',
      'grpc://localhost:4317',
      'http://localhost:4318/v1/traces',
      'http://user:password@localhost:4318',
      'http://localhost:4318/?token=secret',
    ]) {
      const { code, stderr } = await runHere(['serve', '--otlp-endpoint', endpoint]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /--otlp-endpoint must be the base URL of a collector/);
      assert(!/password|secret/.test(stderr), stderr);
    }
  });
});
