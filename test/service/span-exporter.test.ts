import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { sendSpans } from '../../src/service/collector.ts';
import { openSpanExporter } from '../../src/service/span-exporter.ts';
import { exportRequest } from '../../src/trace/otlp.ts';
import { type Collector, startCollector } from '../helpers/collector.ts';
import { freePort } from '../helpers/free-port.ts';

const span = (number: number) =>
  JSON.stringify({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: number.toString(16).padStart(16, '0'),
    parentSpanId: '00f067aa0ba902b7',
    name: `span ${number}`,
    kind: 1,
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: '1700000000000000001',
  });

const batchOf = (count: number, dropped = 0) => ({
  spans: Array.from({ length: count }, (_, index) => span(index + 1)),
  dropped,
});

type Bounds = typeof limits.trace;

async function open(t: TestContext, changed: Partial<Record<keyof Bounds, number>> = {}) {
  const collector = await startCollector(t);
  const lines: string[] = [];
  const line = (fields: object, message: string) => {
    const { reason, dropped } = fields as { reason?: string; dropped?: number };
    lines.push([message, reason, dropped].filter((part) => part !== undefined).join(': '));
  };
  const bounds = { ...limits.trace, retryMs: 20, closeMs: 200, ...changed };
  const exporter = openSpanExporter(collector.tracesUrl, { info: line, warn: line }, bounds);
  return { collector, exporter, lines };
}

const refuseWith =
  (status: number, headers = {}) =>
  (response: Parameters<NonNullable<Parameters<Collector['answerWith']>[0]>>[0]) =>
    response.writeHead(status, headers).end();

const cannot = 'spans cannot be exported; some may be dropped';

test('spans are sent in requests of a bounded number of spans and of bytes', async (t) => {
  for (const bound of [{ requestSpansMax: 3 }, { requestBytesMax: 3 * span(1).length }]) {
    const { collector, exporter } = await open(t, bound);
    exporter.take(batchOf(7));
    await collector.taken(7);
    assert.equal(collector.requests(), 3);
    assert.deepEqual(
      collector.spans.map(({ name }) => name),
      Array.from({ length: 7 }, (_, index) => `span ${index + 1}`),
    );
    await exporter[Symbol.asyncDispose]();
    assert.deepEqual(exporter.counts(), { exported: 7, dropped: 0 });
  }
});

test('a host that has several addresses and no collector has a reason', async () => {
  const url = `http://localhost:${await freePort()}/v1/traces`;
  const result = await sendSpans(url, exportRequest([], ''));
  assert.match(result.outcome === 'later' ? result.reason : '', /ECONNREFUSED/);
});

for (const [what, status] of [
  ['has too many requests', 429],
  ['is away', 503],
] as const)
  test(`a collector that ${what} gets the same spans again, and the log says both once`, async (t) => {
    const { collector, exporter, lines } = await open(t);
    collector.answerWith(refuseWith(status));
    exporter.take(batchOf(2));
    await collector.nextRequest();
    await collector.nextRequest();
    collector.answerWith(undefined);
    await collector.taken(2);
    await exporter[Symbol.asyncDispose]();
    assert.deepEqual(exporter.counts(), { exported: 2, dropped: 0 });
    assert.deepEqual(lines, [`${cannot}: the status is ${status}`, 'spans can be exported again']);
  });

test('a collector is left alone for as long as it asks for, within a bound', async (t) => {
  const { collector, exporter } = await open(t, { retryMs: 60_000, retryMsMax: 50 });
  collector.answerWith(refuseWith(503, { 'Retry-After': '3600' }));
  exporter.take(batchOf(1));
  await collector.nextRequest();
  collector.answerWith(undefined);
  await collector.taken(1);
  await exporter[Symbol.asyncDispose]();
});

test('beyond the bound of the queue spans are dropped, and counted', async (t) => {
  const { collector, exporter } = await open(t, { queuedSpansMax: 5, retryMs: 60_000 });
  collector.answerWith(refuseWith(503));
  exporter.take(batchOf(4, 10));
  await collector.nextRequest();
  exporter.take(batchOf(4));
  assert.deepEqual(exporter.counts(), { exported: 0, dropped: 13 });
  collector.answerWith(undefined);
  await exporter[Symbol.asyncDispose]();
  assert.deepEqual(exporter.counts(), { exported: 5, dropped: 13 });
});

test('spans that a collector refuses for good are dropped', async (t) => {
  const { collector, exporter, lines } = await open(t, { requestSpansMax: 2 });
  collector.answerWith(refuseWith(400));
  exporter.take(batchOf(2));
  await collector.nextRequest();
  collector.answerWith((response) =>
    response.end('{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}'),
  );
  exporter.take(batchOf(2));
  await collector.nextRequest();
  collector.answerWith(undefined);
  exporter.take(batchOf(1));
  await collector.taken(1);
  await exporter[Symbol.asyncDispose]();
  assert.deepEqual(exporter.counts(), { exported: 2, dropped: 3 });
  assert.deepEqual(lines, [`${cannot}: the status is 400`, 'spans can be exported again']);
});

test('a collector that does not answer is given up after a time', async (t) => {
  const { collector, exporter, lines } = await open(t, { exportMs: 50 });
  collector.answerWith(() => undefined);
  exporter.take(batchOf(1));
  await collector.nextRequest();
  await collector.nextRequest();
  assert.deepEqual(lines, [`${cannot}: no reply within 50 ms`]);
  collector.answerWith(undefined);
  await collector.taken(1);
  await exporter[Symbol.asyncDispose]();
});

test('the stop waits a bounded time for a collector that does not answer, and says what is lost', async (t) => {
  const { collector, exporter, lines } = await open(t, { closeMs: 50 });
  collector.answerWith(() => undefined);
  exporter.take(batchOf(3));
  await collector.nextRequest();
  await exporter[Symbol.asyncDispose]();
  assert.equal(lines.at(-1), 'the last spans are lost: 3');
});

test('a reply that is too long, or breaks off, is a failure', async (t) => {
  const { collector, exporter, lines } = await open(t, { replyBytesMax: 100 });
  collector.answerWith((response) => response.end(' '.repeat(101)));
  exporter.take(batchOf(1));
  await collector.nextRequest();
  collector.answerWith((response) => {
    response.writeHead(200, { 'Content-Length': 10 }).write('{', () => response.destroy());
  });
  await collector.nextRequest();
  collector.answerWith(undefined);
  await collector.taken(1);
  await exporter[Symbol.asyncDispose]();
  assert.equal(lines[0], `${cannot}: more than 100 bytes`);
});
