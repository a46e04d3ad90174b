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
import {
  getBooleanFromEnv,
  getStringFromEnv,
  parseTraceParent,
  setGlobalErrorHandler,
} from '@opentelemetry/core';
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
import { CreateObserver, type HttpThreadMeasures } from '../create/observer.ts';
import type { Exchange } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import { version } from '../program.ts';
import type { Transaction } from '../store/commit-queue.ts';
import type { Settlement } from '../store/plants.ts';
import type { Tally } from '../tokens/tally.ts';
import type { Log } from './log.ts';

export interface TracedService {
  readonly basePath: string;
  readonly tls: object | undefined;
  /** As in `Engine`. */
  readonly dbSystem: string;
}

/**
 * Exports the traces of creates. OpenTelemetry's own variables say which and how, and without
 * OTEL_TRACES_SAMPLER, those that clients have sampled.
 *
 * @returns undefined if these variables say that nothing is exported
 */
export function openTraces(url: string, { basePath, tls, dbSystem }: TracedService, log: Log) {
  const warn = (reason: string) => log.warn({ reason }, 'OpenTelemetry warns');
  const silent = () => undefined;
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, DiagLogLevel.WARN);
  setGlobalErrorHandler((cause) => {
    const reason = cause instanceof Error ? cause.message : cause;
    log.warn({ reason }, 'spans could not be exported');
  });
  // The SDK leaves these two to the program.
  const exporter = getStringFromEnv('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (getBooleanFromEnv('OTEL_SDK_DISABLED') || exporter === 'none') return undefined;
  if (exporter !== 'otlp')
    warn(`OTEL_TRACES_EXPORTER is ${exporter}: only otlp and none are known`);
  const hasSampler = getStringFromEnv('OTEL_TRACES_SAMPLER') !== undefined;
  const provider = new BasicTracerProvider({
    ...(!hasSampler && { sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }) }),
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'plant-store',
          'service.version': version,
          'service.instance.id': randomUUID(),
        }),
      )
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
      if (!hasSampler && !isSampled(exchange.label)) return undefined;
      const startTime = Date.now();
      const epochMs = startTime - performance.now();
      const options = { kind: SpanKind.SERVER, attributes: request, startTime };
      const span = tracer.startSpan(`POST ${path}`, options, parentOf(exchange.label));
      if (!span.isRecording()) return undefined;
      span.setAttribute('client.address', exchange.address);
      span.setAttribute('http.response.header.x-request-id', [exchange.requestId]);
      return new TracedCreate(tally, measures, { tracer, span, startTime, epochMs, commit });
    },
    async [Symbol.asyncDispose]() {
      const timeout = new Promise((resolve) => setTimeout(resolve, limits.trace.closeMs).unref());
      await Promise.race([provider.shutdown(), timeout]);
    },
  };
}

/** The last digit of the flags has the bit `sampled`. */
const sampledAt = 54;

/** Spares a create that is not sampled the parser and the SDK. */
function isSampled(traceparent = ''): boolean {
  return /[13579bdf]/.test(traceparent.charAt(sampledAt));
}

function parentOf(traceparent = ''): Context {
  const parent = parseTraceParent(traceparent);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

interface TraceOptions {
  readonly tracer: Tracer;
  readonly span: Span;
  readonly startTime: number;
  /** A time of a create is this and `performance.now()`: a step of the system clock changes none. */
  readonly epochMs: number;
  readonly commit: Attributes;
}

/** A create whose span has the children `receive`, `wait` and `commit`. */
class TracedCreate extends CreateObserver {
  private readonly options: TraceOptions;
  private queuedTime: number | undefined;
  private isClientGone = false;

  constructor(tally: Tally, measures: HttpThreadMeasures, options: TraceOptions) {
    super(tally, measures);
    this.options = options;
  }

  override received(): void {
    this.child('receive', this.options.startTime).end(this.time());
  }

  override queued(): void {
    this.queuedTime = this.time();
  }

  override settled(settlement: Settlement, transaction: Transaction | undefined): void {
    super.settled(settlement, transaction);
    const now = this.time();
    const commitTime = transaction ? this.time(transaction.startedMs) : now;
    this.child('wait', this.queuedTime ?? commitTime).end(commitTime);
    if (transaction !== undefined) {
      const attributes: Attributes = { ...this.options.commit };
      // Only for several, by the conventions.
      if (transaction.plants.length > 1)
        attributes['db.operation.batch.size'] = transaction.plants.length;
      const child = this.child('commit', commitTime, SpanKind.CLIENT, attributes);
      if (typeof settlement === 'object' && settlement.failure !== 'refused')
        fail(child, settlement.failure);
      child.end(now);
    }
    this.queuedTime = undefined;
    if (this.isClientGone) this.end();
    else if (settlement === 'created' || settlement === 'same') this.end(200);
  }

  override refused(problem: ProblemName): void {
    super.refused(problem);
    const { code, status } = problems[problem];
    this.end(status, code);
  }

  /** Ends the span, unless the plant waits or is being committed. */
  override clientClosed(): void {
    this.isClientGone = true;
    if (this.queuedTime === undefined) this.end();
  }

  /** @param status undefined if the client has left. A refusal that follows reaches no client */
  private end(status?: number, code?: number): void {
    const { span } = this.options;
    if (!span.isRecording()) return;
    if (status) span.setAttribute('http.response.status_code', status);
    if (code) span.setAttribute('plant_store.error.code', code);
    // A mistake of the client is no error of the service (semantic conventions for HTTP).
    if (!status || status >= 500) fail(span, `${status ?? 'client_closed'}`);
    span.end(this.time());
  }

  private time(atMs = performance.now()): number {
    return this.options.epochMs + atMs;
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
