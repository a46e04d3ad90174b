import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { excerpt } from '../contract/excerpt.ts';
import { type OperatorProblemName, operatorProblems } from '../contract/operator-problems.ts';
import { errorText, type Problem, Refusal } from '../contract/problems.ts';
import { refuseLength } from '../http/content-headers.ts';
import { createEviction } from '../http/eviction.ts';
import {
  type Exchange,
  headerLines,
  type ListenerEvents,
  readBody,
  sendRefusal,
  sendReply,
} from '../http/exchange.ts';
import { pathOf } from '../http/grammar.ts';
import { type Listener, listen } from '../http/listener.ts';
import type { RequestHead } from '../http/request-head.ts';
import { limits } from '../limits.ts';
import { loadedOnce } from '../loaded-once.ts';
import { sharedCounter } from '../threads/shared-counter.ts';
import { type Fetch, requestOf, sendResponse } from './fetch.ts';
import type { Probes } from './health/probes.ts';

export interface OperatorListenerOptions {
  readonly opsHost: string;
  readonly opsPort: number;
  /** Names that a request may ask for besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  readonly reusePort: boolean;
  /** When one more comes, the idlest is closed. */
  readonly opsConnectionsMax: number;
  readonly probes: Probes;
  /** Answers everything else. It is asked for when it is needed for the first time. */
  readonly loadConsole: () => Promise<Fetch>;
  /** Told also of what a probe or the console has thrown; the caller is answered. */
  readonly events: ListenerEvents;
}

/**
 * Opens the port for operators, on the main thread: that has nothing else to do, and so answers
 * also when those that answer clients are saturated.
 *
 * @throws the error of listen(2), such as EADDRINUSE
 */
export function listenForOperators(options: OperatorListenerOptions): Promise<Listener> {
  const { probes, events } = options;
  const knownNames = new Set(['localhost', ...options.opsNames]);
  const loadConsole = loadedOnce(options.loadConsole);

  function answer(exchange: Exchange, head: RequestHead): void {
    if (pathOf(head.target) === undefined) return sendRefusal(exchange, targetMalformed);
    const url = urlOf(head);
    if (url === undefined)
      return sendProblem(
        exchange,
        'hostUnknown',
        'The request does not say which host and path it is for.',
      );
    if (!isKnown(url.hostname, knownNames))
      return sendProblem(exchange, 'hostUnknown', unknownName(url.hostname));
    if (url.pathname in probes) return answerProbe(exchange, head, url.pathname);
    const refusal = refuseLength(head, limits.ops.bodyBytesMax);
    if (refusal) return sendRefusal(exchange, refusal);
    const leaving = new AbortController();
    readBody(exchange, {
      takeBody: (body) =>
        void orDefect(
          exchange,
          askConsole(exchange, () => requestOf(head, url, body, leaving.signal)),
        ),
      noteClientClosed: () => leaving.abort(),
    });
  }

  function answerProbe(exchange: Exchange, { method }: RequestHead, path: string): void {
    if (method === 'GET' || method === 'HEAD')
      return void orDefect(exchange, askProbe(exchange, path));
    sendProblem(exchange, 'methodNotAllowed', 'A probe takes GET and HEAD.', {
      Allow: 'GET, HEAD',
    });
  }

  async function askProbe(exchange: Exchange, path: string): Promise<void> {
    const reply = await probes[path]?.();
    if (reply === undefined) return;
    const { status, type, body } = reply;
    sendReply(exchange, { status, lines: `Content-Type: ${type}\r\n${linesOfAll}`, body });
  }

  async function askConsole(exchange: Exchange, request: () => Request): Promise<void> {
    const fetch = await loadConsole();
    await sendResponse(exchange, await fetch(request()));
  }

  /**
   * A defect, or a store that cannot be read: whatever it is, the operator is told where to look.
   */
  function orDefect(exchange: Exchange, answering: Promise<void>): Promise<void> {
    return answering.catch((error) => {
      events.failed(error, exchange.requestId);
      sendProblem(exchange, 'defect', defectMessage(exchange.requestId));
    });
  }

  return listen({
    host: options.opsHost,
    port: options.opsPort,
    reusePort: options.reusePort,
    backlog: limits.ops.backlog,
    bodyBytesMax: limits.ops.bodyBytesMax,
    requestMs: limits.http.requestMs,
    answerMs: limits.ops.readMs,
    idleMs: limits.ops.idleMs,
    // The room bounds them.
    connectionsMax: Number.POSITIVE_INFINITY,
    eviction: createEviction(options.opsConnectionsMax),
    counters: {
      connections: sharedCounter(),
      pipelinedRequests: sharedCounter(),
      bodyBytes: sharedCounter(),
    },
    handle: answer,
    events,
    requestIdPrefix: randomBytes(6).toString('hex'),
    refusalLines: linesOfAll,
  });
}

/**
 * What a request is for; undefined if that cannot be told. Its target may name the host itself, and
 * then the Host header is ignored (RFC 9112 §3.2.2).
 */
function urlOf({ target, fields }: RequestHead): URL | undefined {
  const [host = ''] = fields.get('host') ?? [];
  const origin = host ? `http://${host}` : '';
  const url = URL.parse(target.startsWith('/') ? origin + target : target);
  return url?.protocol === 'http:' ? url : undefined;
}

/**
 * A page of another site can make its own name lead to this address (DNS rebinding), and would then
 * be of the same origin. It cannot do so with `localhost` or an address.
 */
function isKnown(name: string, knownNames: ReadonlySet<string>): boolean {
  return knownNames.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0;
}

function unknownName(name: string): string {
  return `This listener is not known as ${excerpt(name)}. Use its address, or start the service with --ops-names NAME.`;
}

function sendProblem(
  exchange: Exchange,
  name: OperatorProblemName,
  message: string,
  more: Readonly<Record<string, string>> = {},
): void {
  const problem: Problem = operatorProblems[name];
  const lines = `Content-Type: application/json\r\n${linesOfAll}${headerLines({ ...problem.headers, ...more })}`;
  sendReply(exchange, { status: problem.status, lines, body: errorText(problem, message) });
}

function defectMessage(requestId: string): string {
  return `The service has met a defect, or cannot read its store. Its log says more; the request id is ${requestId}.`;
}

const targetMalformed = new Refusal(
  'httpMalformed',
  'The request target is neither a path nor an http URL, as RFC 3986 spells them.',
);

const linesOfAll = headerLines({
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
});
