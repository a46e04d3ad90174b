import {
  type Attributes,
  attributesOf,
  nanosText,
  parentFlags,
  type Span,
  spanKind,
} from './otlp.ts';
import type { SpanBuffer } from './span-buffer.ts';
import { maySample, parseTraceparent, type TraceContext } from './trace-context.ts';

/** The span of a create, and its children `receive`, `wait` and `commit`. */
export interface CreateSpan {
  readonly context: TraceContext;
  /** The request has arrived in full. */
  noteReceived(): void;
  /** The plant waits for a transaction. */
  noteQueued(): void;
  /**
   * The plant is durable, or its transaction has failed.
   *
   * @param transaction undefined if no transaction has taken the plant
   * @param failure undefined if the transaction has not failed
   */
  noteSettled(transaction: PlantTransaction | undefined, failure: string | undefined): void;
  /** @param code of the error for the client */
  noteRefused(code: number): void;
  /** The connection is closed. Ends the span, unless the plant waits or is being committed. */
  noteClientClosed(): void;
  /** The request has its reply. */
  end(status: number): void;
}

interface PlantTransaction {
  /** A `performance.now()`. */
  readonly startedMs: number;
  readonly plants: readonly unknown[];
}

/** An `Exchange`. */
interface TracedRequest {
  readonly traceparent: string | undefined;
  readonly requestId: string;
  readonly client: string;
}

export interface CreateSpanOptions {
  readonly buffer: SpanBuffer;
  /** The path of creates. */
  readonly path: string;
  readonly scheme: 'http' | 'https';
  /** The value of `db.system.name`. */
  readonly dbSystem: string;
}

/** Begins the span of a create. Undefined if the client has not sampled the trace. */
export type TraceCreate = (request: TracedRequest) => CreateSpan | undefined;

export function traceCreates(options: CreateSpanOptions): TraceCreate {
  return (request) => {
    if (!maySample(request.traceparent)) return undefined;
    const parent = parseTraceparent(request.traceparent);
    return parent && beginSpan(parent, request, options);
  };
}

function beginSpan(
  parent: TraceContext,
  { requestId, client }: TracedRequest,
  options: CreateSpanOptions,
): CreateSpan {
  const { context, makeSpan } = spansBelow(parent);
  // Copied: a closed connection has no address.
  const request = { requestId, client };
  const startMs = performance.now();
  const children: Span[] = [];
  let queuedMs: number | undefined;
  let errorCode: number | undefined;
  let isClientGone = false;
  let isOver = false;

  function noteReceived(): void {
    children.push(makeSpan('receive', spanKind.internal, startMs, performance.now()));
  }

  /** @param status undefined if the client has gone before its reply */
  function end(status?: number): void {
    if (isOver) return;
    isOver = true;
    if (children.length === 0) noteReceived();
    const attributes = requestAttributes(request, options, status, errorCode);
    const name = `POST ${options.path}`;
    const server = makeSpan(name, spanKind.server, startMs, performance.now(), attributes);
    options.buffer.add([server, ...children]);
  }

  return {
    context,
    noteReceived,
    noteQueued() {
      queuedMs = performance.now();
    },
    noteSettled(transaction, failure) {
      const nowMs = performance.now();
      const committedMs = transaction?.startedMs ?? nowMs;
      children.push(makeSpan('wait', spanKind.internal, queuedMs ?? committedMs, committedMs));
      if (transaction !== undefined) {
        const attributes = transactionAttributes(transaction, options.dbSystem, failure);
        children.push(makeSpan('commit', spanKind.client, committedMs, nowMs, attributes));
      }
      queuedMs = undefined;
      if (isClientGone) end();
    },
    noteRefused(code) {
      errorCode = code;
    },
    noteClientClosed() {
      isClientGone = true;
      if (queuedMs === undefined) end();
    },
    end,
  };
}

/** Semantic conventions for HTTP servers. */
function requestAttributes(
  { requestId, client }: Pick<TracedRequest, 'requestId' | 'client'>,
  { path, scheme }: CreateSpanOptions,
  status: number | undefined,
  errorCode: number | undefined,
): Attributes {
  const failure = status === undefined ? 'client_closed' : status >= 500 ? `${status}` : undefined;
  return {
    'http.request.method': 'POST',
    'http.route': path,
    'url.path': path,
    'url.scheme': scheme,
    'client.address': client,
    'http.response.status_code': status,
    'http.response.header.x-request-id': [requestId],
    'plant_store.error.code': errorCode,
    'error.type': failure,
  };
}

/** Semantic conventions for databases. */
function transactionAttributes(
  { plants }: PlantTransaction,
  dbSystem: string,
  failure: string | undefined,
): Attributes {
  return {
    'db.system.name': dbSystem,
    'db.operation.name': 'INSERT',
    'db.collection.name': 'plants',
    // Only for several, by the conventions.
    'db.operation.batch.size': plants.length > 1 ? plants.length : undefined,
    'error.type': failure,
  };
}

/** Makes the spans of one create. The server span has `context`; it is the parent of the others. */
function spansBelow(parent: TraceContext) {
  const { traceId, flags } = parent;
  const context: TraceContext = { traceId, spanId: newSpanId(), flags };
  const offsetMs = epochMs() - performance.now();

  /** Times are of `performance.now()`. An attribute `error.type` makes the status an error. */
  function makeSpan(
    name: string,
    kind: Span['kind'],
    fromMs: number,
    toMs: number,
    attributes: Attributes = {},
  ): Span {
    const isServer = kind === spanKind.server;
    return {
      traceId,
      spanId: isServer ? context.spanId : newSpanId(),
      parentSpanId: isServer ? parent.spanId : context.spanId,
      flags: Number.parseInt(flags, 16) | parentFlags[isServer ? 'isRemote' : 'isLocal'],
      name,
      kind,
      startTimeUnixNano: nanosText(offsetMs + fromMs),
      endTimeUnixNano: nanosText(offsetMs + toMs),
      attributes: attributesOf(attributes),
      status: attributes['error.type'] === undefined ? {} : { code: 2 },
    };
  }

  return { context, makeSpan };
}

/** 64 bits. `randomBytes` would take 50 µs of a thread that runs it seldom. */
function newSpanId(): string {
  return randomDigits() + randomDigits();
}

function randomDigits(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

/** TypeScript has no types for `Temporal` yet. */
declare const Temporal: { readonly Now: { instant(): { readonly epochNanoseconds: bigint } } };

/** With a fraction: `Date.now()` would put a span up to a millisecond before its parent. */
function epochMs(): number {
  return Number(Temporal.Now.instant().epochNanoseconds) / 1e6;
}
