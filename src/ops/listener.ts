import { isIP } from 'node:net';
import { excerpt } from '../contract/excerpt.ts';
import { type OperatorProblemName, operatorProblems } from '../contract/operator-problems.ts';
import { errorText, type Problem } from '../contract/problems.ts';
import { refuseLength } from '../http/content-headers.ts';
import { createEviction } from '../http/eviction.ts';
import {
  type Exchange,
  type Handle,
  headerLines,
  type ListenerEvents,
  newRequestIdPrefix,
  readBody,
  sendRefusal,
  sendReply,
} from '../http/exchange.ts';
import { pathOf } from '../http/grammar.ts';
import { type Listener, listen } from '../http/listener.ts';
import { type RequestHead, targetMalformed } from '../http/request-head.ts';
import type { TlsMaterial } from '../http/tls.ts';
import { limits } from '../limits.ts';
import { sharedCounter } from '../threads/shared-counter.ts';
import { type Handler, operatorRequest, sendAnswer } from './answer.ts';
import type { Probes } from './health/probes.ts';
import { reused } from './reused.ts';

export interface OperatorListenerOptions {
  readonly opsHost: string;
  readonly opsPort: number;
  /** Undefined: connections are not encrypted. */
  readonly tls: TlsMaterial | undefined;
  /** Host names in requests, besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  readonly reusePort: boolean;
  /** A further connection closes the idlest connection. */
  readonly opsConnectionsMax: number;
  readonly probes: Probes;
  /** Called once, for the first request that is no probe. */
  readonly loadConsole: () => Promise<Handler>;
  readonly events: ListenerEvents;
}

/**
 * Opens the operators' listener. It runs on the main thread, which has nothing else to do, and so
 * answers even when the HTTP threads are saturated.
 *
 * @throws the error of listen(2), such as EADDRINUSE
 */
export function listenForOperators(options: OperatorListenerOptions): Promise<Listener> {
  return listen({
    host: options.opsHost,
    port: options.opsPort,
    tls: options.tls,
    reusePort: options.reusePort,
    backlog: limits.ops.backlog,
    bodyBytesMax: limits.ops.bodyBytesMax,
    requestMs: limits.http.requestMs,
    answerMs: limits.ops.readMs,
    idleMs: limits.ops.idleMs,
    // `eviction` bounds them.
    connectionsMax: Number.POSITIVE_INFINITY,
    eviction: createEviction(options.opsConnectionsMax),
    counters: {
      connections: sharedCounter(),
      pipelinedRequests: sharedCounter(),
      bodyBytes: sharedCounter(),
    },
    handle: routes(options),
    events: options.events,
    requestIdPrefix: newRequestIdPrefix(Date.now()),
    refusalLines: commonLines,
  });
}

function routes({ probes, opsNames, tls, ...options }: OperatorListenerOptions): Handle {
  const scheme = tls ? 'https:' : 'http:';
  const hostNames = new Set(['localhost', ...opsNames]);
  const loadConsole = reused(options.loadConsole);

  return (exchange, head) => {
    if (pathOf(head.target) === undefined) return sendRefusal(exchange, targetMalformed);
    const url = urlOf(head, scheme);
    if (url === undefined) return sendProblem(exchange, 'hostUnknown', hostMissing);
    if (!isKnown(url.hostname, hostNames))
      return sendProblem(exchange, 'hostUnknown', unknownName(url.hostname));
    const probe = probes[url.pathname];
    if (probe) return answerProbe(exchange, head, probe);
    const refusal = refuseLength(head, limits.ops.bodyBytesMax);
    if (refusal) return sendRefusal(exchange, refusal);
    const leaving = new AbortController();
    readBody(exchange, {
      takeBody: (body) =>
        orDefect(exchange, async () => {
          const answer = await loadConsole();
          sendAnswer(exchange, await answer(operatorRequest(head, url, body, leaving.signal)));
        }),
      noteClientClosed: () => leaving.abort(),
    });
  };
}

function answerProbe(exchange: Exchange, { method }: RequestHead, probe: Probes[string]): void {
  if (method !== 'GET' && method !== 'HEAD')
    return sendProblem(exchange, 'methodNotAllowed', 'A probe takes GET and HEAD.', {
      Allow: 'GET, HEAD',
    });
  orDefect(exchange, async () => {
    const { status, type, body } = await probe();
    sendReply(exchange, { status, lines: `Content-Type: ${type}\r\n${commonLines}`, body });
  });
}

/** Sends a problem if `answer` throws, which is a defect or a store that cannot be read. */
function orDefect(exchange: Exchange, answer: () => Promise<void>): void {
  answer().catch((error) => {
    exchange.owner.listener.events.failed(error, exchange);
    sendProblem(exchange, 'defect', defectMessage(exchange.requestId));
  });
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

function sendProblem(
  exchange: Exchange,
  name: OperatorProblemName,
  message: string,
  more: Readonly<Record<string, string>> = {},
): void {
  const problem: Problem = operatorProblems[name];
  const fields = { 'Content-Type': 'application/json', ...problem.headers, ...more };
  const lines = commonLines + headerLines(fields);
  sendReply(exchange, { status: problem.status, lines, body: errorText(problem, message) });
}

function defectMessage(requestId: string): string {
  const remedy = `Look for the request id ${requestId} in its log.`;
  return `The service has a defect, or cannot read its store. ${remedy}`;
}

const hostMissing =
  'The request must name its host: send a path and a Host header, or an http URL.';

const commonLines = headerLines({
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
});
