import { randomUUID } from 'node:crypto';
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { type ProblemName, problems } from '../contract/problems.ts';
import type { CreateObserver } from '../create/observer.ts';
import type { Exchange } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import { version } from '../program.ts';
import type { Transaction } from '../store/commit-queue.ts';
import type { Settlement } from '../store/plants.ts';
import type { Tally } from '../tokens/tally.ts';
import type { Log } from './log.ts';
import { type HttpThreadMeasures, ObservedCreate } from './observer.ts';

export interface TracedService {
  readonly basePath: string;
  readonly tls: object | undefined;
  /** As in `Engine`. */
  readonly dbSystem: string;
}

/**
 * Exports the traces of creates whose clients have sampled them. OpenTelemetry's own variables,
 * such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES, say the rest.
 */
export function openTraces(url: string, { basePath, tls, dbSystem }: TracedService, log: Log) {
  const warn = (message: string) => log.warn({ reason: message }, 'spans cannot be exported');
  const silent = () => undefined;
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, DiagLogLevel.WARN);
  const provider = new BasicTracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    resource: resourceFromAttributes({
      'service.name': 'plant-store',
      'service.version': version,
      'service.instance.id': randomUUID(),
    })
      .merge(defaultResource())
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  });
  const tracer = provider.getTracer('plant-store', version);
  const path = `${basePath}/plants`;
  const request: Attributes = {
    'http.request.method': 'POST',
    'http.route': path,
    'url.path': path,
    'url.scheme': tls ? 'https' : 'http',
  };
  const commit: Attributes = {
    'db.system.name': dbSystem,
    'db.operation.name': 'INSERT',
    'db.collection.name': 'plants',
  };
  return {
    /** @returns undefined for a create that is not traced */
    observeTraced(exchange: Exchange, tally: Tally, measures: HttpThreadMeasures) {
      const parent = parentOf(exchange.label);
      if (parent === undefined) return undefined;
      const options = { kind: SpanKind.SERVER, attributes: request };
      const span = tracer.startSpan(`POST ${path}`, options, parent);
      span.setAttribute('client.address', exchange.address);
      span.setAttribute('http.response.header.x-request-id', [exchange.requestId]);
      return new TracedCreate(tally, measures, { tracer, span, commit });
    },
    async [Symbol.asyncDispose]() {
      const timeout = new Promise((resolve) => setTimeout(resolve, limits.trace.closeMs).unref());
      await Promise.race([provider.shutdown(), timeout]);
    },
  };
}

/** The last digit of the flags has the bit `sampled`. */
const sampledAt = 54;

/** @returns undefined for a trace that is not sampled. Reading each `traceparent` takes 0.5 µs. */
function parentOf(traceparent: string | undefined): Context | undefined {
  if (traceparent === undefined || !/[13579bdf]/.test(traceparent.charAt(sampledAt)))
    return undefined;
  const parent = parseTraceParent(traceparent);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : undefined;
}

interface TraceOptions {
  readonly tracer: Tracer;
  readonly span: Span;
  readonly commit: Attributes;
}

/** A create whose span has the children `receive`, `wait` and `commit`. */
class TracedCreate extends ObservedCreate implements CreateObserver {
  private readonly options: TraceOptions;
  private readonly startedAtMs = Date.now();
  private queuedAtMs: number | undefined;
  private isClientGone = false;

  constructor(tally: Tally, measures: HttpThreadMeasures, options: TraceOptions) {
    super(tally, measures);
    this.options = options;
  }

  received(): void {
    this.child('receive', this.startedAtMs).end();
  }

  queued(): void {
    this.queuedAtMs = Date.now();
  }

  override settled(settlement: Settlement, transaction: Transaction | undefined): void {
    super.settled(settlement, transaction);
    const nowMs = Date.now();
    const ranMs = transaction === undefined ? 0 : performance.now() - transaction.startedMs;
    this.child('wait', this.queuedAtMs ?? nowMs - ranMs).end(nowMs - ranMs);
    if (transaction !== undefined) {
      const attributes: Attributes = { ...this.options.commit };
      // Only for several, by the conventions.
      if (transaction.plants.length > 1)
        attributes['db.operation.batch.size'] = transaction.plants.length;
      const child = this.child('commit', nowMs - ranMs, SpanKind.CLIENT, attributes);
      if (typeof settlement === 'object' && settlement.failure !== 'refused')
        fail(child, settlement.failure);
      child.end(nowMs);
    }
    this.queuedAtMs = undefined;
    if (this.isClientGone) this.endWithoutReply();
    else if (settlement === 'created' || settlement === 'same') this.end(200);
  }

  override refused(problem: ProblemName): void {
    super.refused(problem);
    const { code, status } = problems[problem];
    this.options.span.setAttribute('plant_store.error.code', code);
    this.end(status);
  }

  /** Ends the span, unless the plant waits or is being committed. */
  clientClosed(): void {
    this.isClientGone = true;
    if (this.queuedAtMs === undefined) this.endWithoutReply();
  }

  private end(status: number): void {
    this.options.span.setAttribute('http.response.status_code', status);
    // A mistake of the client is no error of the service (semantic conventions for HTTP).
    if (status >= 500) fail(this.options.span, `${status}`);
    this.options.span.end();
  }

  private endWithoutReply(): void {
    if (!this.options.span.isRecording()) return;
    fail(this.options.span, 'client_closed');
    this.options.span.end();
  }

  private child(
    name: string,
    startTime: number,
    kind = SpanKind.INTERNAL,
    attributes: Attributes = {},
  ): Span {
    const parent = trace.setSpan(ROOT_CONTEXT, this.options.span);
    return this.options.tracer.startSpan(name, { kind, startTime, attributes }, parent);
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
