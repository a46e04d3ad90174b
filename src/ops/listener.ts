import { isIP } from 'node:net';
import { excerpt } from '../contract/excerpt.ts';
import {
  type Exchange,
  type Handle,
  headerLines,
  type ListenerEvents,
  newRequestIdPrefix,
  readBody,
  sendRefusal,
} from '../http/exchange.ts';
import { type Listener, listen } from '../http/listener.ts';
import { pathOf, type RequestHead, targetMalformed } from '../http/request-head.ts';
import type { TlsMaterial } from '../http/tls.ts';
import { limits } from '../limits.ts';
import { sharedCounter } from '../threads/shared-counter.ts';
import { type Answer, type Handler, refusalHeaders, sendAnswer } from './answer.ts';
import { answerJson, refuse } from './api/json.ts';
import { reused } from './loading.ts';
import { type MetricSources, metricsText } from './metrics/metrics.ts';

export interface OperatorListenerOptions {
  readonly opsHost: string;
  readonly opsPort: number;
  /** Undefined: connections are not encrypted. */
  readonly tls: TlsMaterial | undefined;
  /** Host names in requests, besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  readonly reusePort: boolean;
  readonly opsConnectionsMax: number;
  readonly probes: Probes;
  readonly loadConsole: () => Promise<Handler>;
  readonly events: ListenerEvents;
}

/** On the main thread, which has no clients, and answers also when HTTP threads are saturated. */
export function listenForOperators(options: OperatorListenerOptions): Promise<Listener> {
  return listen({
    host: options.opsHost,
    port: options.opsPort,
    tls: options.tls,
    reusePort: options.reusePort,
    backlog: limits.ops.backlog,
    bodyBytesMax: limits.ops.bodyBytesMax,
    answerMs: limits.ops.readMs,
    idleMs: limits.ops.idleMs,
    connectionsMax: options.opsConnectionsMax,
    threadCount: 1,
    strangersBytesMax: limits.http.strangersBytesMax,
    clientsBytesMax: 0,
    counters: {
      connections: sharedCounter(),
      lingering: sharedCounter(),
      strangers: sharedCounter(),
      pipelinedRequests: sharedCounter(),
    },
    handle: routes(options),
    events: options.events,
    requestIdPrefix: newRequestIdPrefix(Date.now()),
    refusalLines: headerLines(refusalHeaders),
  });
}

function routes({ probes, opsNames, tls, events, ...options }: OperatorListenerOptions): Handle {
  const scheme = tls ? 'https:' : 'http:';
  const hostNames = new Set(['localhost', ...opsNames]);
  const loadConsole = reused(options.loadConsole);

  /** Work that throws is a defect, or finds a store that cannot be read. */
  function answer(exchange: Exchange, work: () => Promise<Answer>): void {
    work()
      .then((answered) => sendAnswer(exchange, answered))
      .catch((error) => {
        events.failed(error, exchange);
        const remedy = `Look for the request id ${exchange.requestId} in its log.`;
        const message = `The service has a defect, or cannot read its store. ${remedy}`;
        sendAnswer(exchange, refuse('defect', message));
      });
  }

  return (exchange, head) => {
    if (pathOf(head.target) === undefined) return sendRefusal(exchange, targetMalformed);
    const url = urlOf(head, scheme);
    if (url === undefined) return sendAnswer(exchange, refuse('hostUnknown', hostMissing));
    if (!isKnown(url.hostname, hostNames))
      return sendAnswer(exchange, refuse('hostUnknown', unknownName(url.hostname)));
    const probe = probes[url.pathname];
    if (probe && head.method !== 'GET' && head.method !== 'HEAD')
      return sendAnswer(exchange, noProbe);
    if (probe) return answer(exchange, probe);
    const method = head.method === 'HEAD' ? 'GET' : head.method;
    const query = Object.fromEntries([...url.searchParams].reverse());
    const leaving = new AbortController();
    readBody(exchange, {
      onBody: (body) =>
        answer(exchange, async () => {
          const handle = await loadConsole();
          const { fields } = head;
          return handle({ method, url, query, fields, body, signal: leaving.signal });
        }),
      onClientClosed: () => leaving.abort(),
    });
  };
}

/** What machines poll, by path. Requests for a path share the reply that is under way. */
type Probes = Readonly<Record<string, () => Promise<Answer>>>;

export function probesOf(sources: MetricSources): Probes {
  return {
    '/livez': async () => answerJson({ live: true }),
    '/readyz': reused(async () => {
      const readiness = await sources.health.check();
      return answerJson(readiness, readiness.ready ? 200 : 503);
    }, 0),
    '/metrics': reused(async () => {
      const headers = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };
      return { status: 200, headers, body: await metricsText(sources) };
    }, 0),
  };
}

/** Ignores the Host header if the target has a host (RFC 9112 §3.2.2). */
function urlOf({ target, fields }: RequestHead, scheme: string): URL | undefined {
  const [host = ''] = fields.get('host') ?? [];
  const origin = host ? `${scheme}//${host}` : '';
  const url = URL.parse(target.startsWith('/') ? origin + target : target);
  return url?.protocol === scheme ? url : undefined;
}

/**
 * Refuses unknown names because of DNS rebinding: a page of another site could resolve its own name
 * to this address, and would be of the same origin. It cannot do so with `localhost` or an address.
 */
function isKnown(name: string, hostNames: ReadonlySet<string>): boolean {
  return hostNames.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0;
}

function unknownName(name: string): string {
  const remedy = 'Use its address, or start the service with --ops-names NAME.';
  return `This listener is not known as ${excerpt(name)}. ${remedy}`;
}

const hostMissing =
  'The request must name its host: send a path and a Host header, or an http URL.';

const noProbe = refuse('methodNotAllowed', 'A probe takes GET and HEAD.', { Allow: 'GET, HEAD' });
