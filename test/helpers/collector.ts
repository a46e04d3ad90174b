import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Owner } from './program.ts';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

interface Attribute {
  readonly key: string;
  readonly value: {
    stringValue?: string;
    intValue?: string;
    arrayValue?: { values: Attribute['value'][] };
  };
}

type Answer = (response: ServerResponse) => void;

/** A collector that checks each request against the definitions of OTLP. */
export interface Collector {
  /** As `--otlp-endpoint`. */
  readonly endpoint: string;
  readonly tracesUrl: string;
  /** Spans that were taken. */
  readonly spans: ReceivedSpan[];
  /** Requests, taken or not. */
  requests(): number;
  /** Resolves when as many spans were taken. */
  taken(spans: number): Promise<void>;
  /** Resolves with the next request, after its answer. */
  nextRequest(): Promise<unknown>;
  /** Requests from now on get this answer, and their spans are not taken. Undefined takes them. */
  answerWith(answer: Answer | undefined): void;
  /** From now on connections are refused. */
  close(): void;
}

export async function startCollector(owner: Owner, port = 0): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const events = new EventEmitter().setMaxListeners(0);
  let requests = 0;
  let answer: Answer | undefined;

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/v1/traces');
    assert.equal(request.headers['content-type'], 'application/json');
    const found = spansIn(await json(request));
    requests += 1;
    if (answer) answer(response);
    else {
      spans.push(...found);
      response.setHeader('Content-Type', 'application/json').end('{"partialSuccess":{}}');
    }
    events.emit('request');
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error) => events.emit('error', error));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  owner.after(close);
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const nextRequest = () => once(events, 'request', { signal: AbortSignal.timeout(60_000) });
  return {
    ...{ endpoint, tracesUrl: `${endpoint}/v1/traces`, spans, nextRequest, close },
    requests: () => requests,
    async taken(count) {
      while (spans.length < count) await nextRequest();
    },
    answerWith(next) {
      answer = next;
    },
  };
}

function spansIn(body: unknown): ReceivedSpan[] {
  assert(isExportRequest(body), JSON.stringify(isExportRequest.errors, null, 2));
  const { resourceSpans } = body as { resourceSpans: ResourceSpans[] };
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const { 'service.name': name, 'service.instance.id': instance } = valuesOf(resource);
    assert.equal(name, 'plant-store');
    assert.match(String(instance), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    return scopeSpans.flatMap(({ spans }) => spans);
  });
}

interface ResourceSpans {
  readonly resource: Pick<ReceivedSpan, 'attributes'>;
  readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
}

/** By key: a text, a number, or a list of texts. */
export function valuesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>) {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, arrayValue } }) => [
      key,
      stringValue ??
        (intValue === undefined
          ? arrayValue?.values.map((one) => one.stringValue)
          : Number(intValue)),
    ]),
  );
}

/*
 * opentelemetry/proto/{collector/trace,trace,resource,common}/v1/*.proto, in the JSON form that OTLP
 * describes: ids are hexadecimal, 64-bit integers are text, enumerations are numbers. A field that
 * the service does not send is left out, so that a wrong name is found.
 */
const text = { type: 'string' };
const int64 = { type: 'string', pattern: '^-?(0|[1-9][0-9]*)$' };
const list = (items: object) => ({ type: 'array', items });
const message = (properties: object, required: readonly string[] = []) => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
});
const oneOf = (properties: object) => ({
  ...message(properties),
  minProperties: 1,
  maxProperties: 1,
});

const attributes = list(message({ key: text, value: { $ref: '#/$defs/anyValue' } }, ['key']));
const span = message(
  {
    traceId: { type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$' },
    spanId: { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' },
    parentSpanId: { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' },
    flags: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
    name: { type: 'string', minLength: 1 },
    kind: { enum: [1, 2, 3, 4, 5] },
    startTimeUnixNano: { type: 'string', pattern: '^[1-9][0-9]{18}$' },
    endTimeUnixNano: { type: 'string', pattern: '^[1-9][0-9]{18}$' },
    attributes,
    status: message({ code: { enum: [0, 1, 2] }, message: text }),
  },
  ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
);
const scope = message({ name: text, version: text }, ['name', 'version']);
const scopeSpans = message({ scope, spans: list(span) }, ['scope', 'spans']);
const resource = message({ attributes }, ['attributes']);
const resourceSpans = message({ resource, scopeSpans: list(scopeSpans) }, ['resource']);

const isExportRequest = new Ajv2020().compile({
  ...message({ resourceSpans: list(resourceSpans) }, ['resourceSpans']),
  $defs: {
    anyValue: oneOf({
      stringValue: text,
      intValue: int64,
      arrayValue: message({ values: list({ $ref: '#/$defs/anyValue' }) }),
    }),
  },
});
