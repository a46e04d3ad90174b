import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenFor } from './free-port.ts';
import type { Owner } from './program.ts';

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly arrayValue?: { readonly values: readonly Value[] };
}

interface Attributes {
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
}

export interface ReceivedSpan extends Attributes {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
}

/** Takes traces by OTLP over HTTP, in JSON. */
export interface Collector {
  /** As `--otlp-endpoint`. */
  readonly endpoint: string;
  /** Header fields of the last request. */
  headers(): NodeJS.Dict<string | string[]>;
  /** Who has sent the last request. */
  resource(): Attributes | undefined;
  /** Resolves once a trace has so many spans, by name. */
  spansOf(traceId: string, count: number): Promise<ReadonlyMap<string, ReceivedSpan>>;
}

export async function startCollector(owner: Owner): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const events = new EventEmitter().setMaxListeners(0);
  let headers = {};
  let resource: Attributes | undefined;
  const server = createServer(async (request, response) => {
    headers = request.headers;
    const { resourceSpans } = (await json(request)) as {
      resourceSpans: { resource: Attributes; scopeSpans: { spans: ReceivedSpan[] }[] }[];
    };
    resource = resourceSpans[0]?.resource;
    for (const { scopeSpans } of resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans);
    response.setHeader('Content-Type', 'application/json').end('{}');
    events.emit('request');
  });
  return {
    endpoint: `http://127.0.0.1:${await listenFor(owner, server)}`,
    headers: () => headers,
    resource: () => resource,
    async spansOf(traceId, count) {
      const own = () => spans.filter((span) => span.traceId === traceId);
      while (own().length < count)
        await once(events, 'request', { signal: AbortSignal.timeout(60_000) });
      return new Map(own().map((span) => [span.name, span]));
    },
  };
}

/** By key: a text, a number, or a list of texts. */
export function valuesOf(span: Attributes | undefined): Record<string, unknown> {
  const entries = span?.attributes.map(({ key, value: { stringValue, intValue, arrayValue } }) => [
    key,
    stringValue ?? intValue ?? arrayValue?.values.map((one) => one.stringValue),
  ]);
  return Object.fromEntries(entries ?? []);
}
