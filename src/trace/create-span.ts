import { randomUUID } from 'node:crypto';
import {
  type Attribute,
  attributesOf,
  nanosText,
  parentFlags,
  type Span,
  spanKind,
} from './otlp.ts';
import type { SpanBuffer } from './span-buffer.ts';
import { maySample, parseTraceparent, type TraceContext } from './trace-context.ts';

/** An `Exchange`. */
interface TracedRequest {
  readonly traceparent: string | undefined;
  readonly requestId: string;
  readonly client: string;
}

interface PlantTransaction {
  /** A `performance.now()`. */
  readonly startedMs: number;
  readonly plants: readonly unknown[];
}

export interface CreateSpanOptions {
  readonly buffer: SpanBuffer;
  /** The path of creates. */
  readonly path: string;
  readonly scheme: 'http' | 'https';
  /** The value of `db.system.name`. */
  readonly dbSystem: string;
}

/** What all spans have in common. */
interface CreateSpanConstants extends CreateSpanOptions {
  readonly requestAttributes: readonly Attribute[];
  readonly commitAttributes: readonly Attribute[];
}

/** Begins the span of a create. Undefined if the client has not sampled the trace. */
export type TraceCreate = (request: TracedRequest) => CreateSpan | undefined;

export function traceCreates(options: CreateSpanOptions): TraceCreate {
  const { path, scheme, dbSystem } = options;
  const constant = {
    ...options,
    requestAttributes: attributesOf({
      'http.request.method': 'POST',
      'http.route': path,
      'url.path': path,
      'url.scheme': scheme,
    }),
    commitAttributes: attributesOf({
      'db.system.name': dbSystem,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
    }),
  };
  return (request) => {
    if (!maySample(request.traceparent)) return undefined;
    const parent = parseTraceparent(request.traceparent);
    return parent && new CreateSpan(parent, request, constant);
  };
}

/**
 * The span of a create, and its children `receive`, `wait` and `commit`. Names and attributes are
 * those of the semantic conventions for HTTP servers and for databases.
 */
export class CreateSpan {
  /** Of the span itself. */
  readonly context: TraceContext;
  private readonly parent: TraceContext;
  private readonly constant: CreateSpanConstants;
  private readonly requestId: string;
  private readonly client: string;
  /** Milliseconds from the epoch to the 0 of `performance.now()`. */
  private readonly offsetMs = epochMs() - performance.now();
  private readonly startMs = performance.now();
  private readonly children: Span[] = [];
  private queuedMs: number | undefined;
  private errorCode: number | undefined;
  private isClientGone = false;
  private isOver = false;

  constructor(parent: TraceContext, request: TracedRequest, constant: CreateSpanConstants) {
    this.context = { ...parent, spanId: newSpanId() };
    this.parent = parent;
    this.constant = constant;
    this.requestId = request.requestId;
    // A closed connection has no address.
    this.client = request.client;
  }

  /** The request has arrived in full. */
  noteReceived(): void {
    this.addChild({ name: 'receive', fromMs: this.startMs, toMs: performance.now() });
  }

  /** The plant waits for a transaction. */
  noteQueued(): void {
    this.queuedMs = performance.now();
  }

  /**
   * The plant is durable, or its transaction has failed.
   *
   * @param transaction undefined if no transaction has taken the plant
   * @param failure undefined if the transaction has not failed
   */
  noteSettled(transaction: PlantTransaction | undefined, failure: string | undefined): void {
    const nowMs = performance.now();
    const waitedMs = transaction?.startedMs ?? nowMs;
    this.addChild({ name: 'wait', fromMs: this.queuedMs ?? waitedMs, toMs: waitedMs });
    if (transaction !== undefined) {
      const plants = transaction.plants.length;
      const attributes = attributesOf({
        // Only for several, by the conventions.
        'db.operation.batch.size': plants > 1 ? plants : undefined,
        'error.type': failure,
      });
      attributes.push(...this.constant.commitAttributes);
      const kind = spanKind.client;
      this.addChild({ name: 'commit', kind, fromMs: waitedMs, toMs: nowMs, attributes, failure });
    }
    this.queuedMs = undefined;
    if (this.isClientGone) this.end(undefined);
  }

  /** @param code of the error for the client */
  noteRefused(code: number): void {
    this.errorCode = code;
  }

  /** The connection is closed. Ends the span, unless the plant waits or is being committed. */
  noteClientClosed(): void {
    this.isClientGone = true;
    if (this.queuedMs === undefined) this.end(undefined);
  }

  /** @param status of the reply; undefined if the client has gone before its reply */
  end(status: number | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.children.length === 0) this.noteReceived();
    const { path, buffer, requestAttributes } = this.constant;
    const failure = failureOf(status);
    const attributes = attributesOf({
      'client.address': this.client,
      'http.response.status_code': status,
      'http.response.header.x-request-id': [this.requestId],
      'plant_store.error.code': this.errorCode,
      'error.type': failure,
    });
    attributes.push(...requestAttributes);
    const times = { fromMs: this.startMs, toMs: performance.now() };
    const details = { name: `POST ${path}`, kind: spanKind.server, ...times, attributes, failure };
    const { spanId } = this.context;
    const span = this.makeSpan(details, spanId, this.parent.spanId, parentFlags.isRemote);
    buffer.add([span, ...this.children]);
  }

  private addChild(details: SpanDetails): void {
    const { spanId } = this.context;
    this.children.push(this.makeSpan(details, newSpanId(), spanId, parentFlags.isLocal));
  }

  private makeSpan(
    { name, kind = spanKind.internal, fromMs, toMs, attributes = [], failure }: SpanDetails,
    spanId: string,
    parentSpanId: string,
    parentFlag: number,
  ): Span {
    const { traceId, flags } = this.context;
    return {
      traceId,
      spanId,
      parentSpanId,
      flags: Number.parseInt(flags, 16) | parentFlag,
      name,
      kind,
      startTimeUnixNano: nanosText(this.offsetMs + fromMs),
      endTimeUnixNano: nanosText(this.offsetMs + toMs),
      attributes,
      status: failure === undefined ? {} : { code: 2 },
    };
  }
}

interface SpanDetails {
  readonly name: string;
  /** Default: internal. */
  readonly kind?: Span['kind'];
  /** Times of `performance.now()`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly attributes?: readonly Attribute[];
  /** Makes the status an error. */
  readonly failure?: string | undefined;
}

/** A mistake of the client is no error of the service (semantic conventions for HTTP). */
function failureOf(status: number | undefined): string | undefined {
  if (status === undefined) return 'client_closed';
  return status >= 500 ? `${status}` : undefined;
}

/** 64 bits. Node has random bytes for UUIDs at hand; `randomBytes` takes 50 µs. */
function newSpanId(): string {
  const uuid = randomUUID();
  // Version and variant stand between the two.
  return uuid.slice(0, 8) + uuid.slice(-8);
}

/** TypeScript has no types for `Temporal` yet. */
declare const Temporal: { readonly Now: { instant(): { readonly epochNanoseconds: bigint } } };

/** With a fraction: `Date.now()` would put a span up to a millisecond before its parent. */
function epochMs(): number {
  return Number(Temporal.Now.instant().epochNanoseconds) / 1e6;
}
