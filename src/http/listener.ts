import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBody, errorHeaders, problems, Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../shared-counter.ts';
import { type Exchange, guarded, type ListenerEvents, type ListenerState, sendRefusal } from './exchange.ts';
import { parserRefusal } from './parser-errors.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  readonly requestMs: number;
  /** Open connections, of this listener and those that share the counter. */
  readonly connectionsMax: number;
  readonly connections: SharedCounter;
  readonly handle: (exchange: Exchange) => void;
  readonly events: ListenerEvents;
  /** Starts the id of every request, so that ids of several runs differ. */
  readonly requestIdPrefix: string;
}

export interface Listener {
  /** `http://host:port` as bound. */
  readonly origin: string;
  /**
   * Accepts nothing more, answers what has been received, and resolves when every connection is closed; those that
   * are still busy after `drainMs` are cut.
   */
  close(drainMs: number): Promise<void>;
}

/** Opens the public port. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions): Promise<Listener> {
  let draining = false;
  /** Open connections, each with its last exchange: replies are sent in the order of the requests, so it is answered last. */
  const connections = new Map<Duplex, Exchange | undefined>();
  const refusedSockets = new WeakSet<Duplex>();
  const isLast = (exchange: Exchange) => connections.get(exchange.request.socket) === exchange;
  const state: ListenerState = { events: options.events, closesAfter: (exchange) => draining && isLast(exchange) };
  let requests = 0;
  const nextRequestId = () => `${options.requestIdPrefix}-${((requests += 1)).toString(36)}`;

  const server = createServer({
    // Duplicates of header fields that may come once only are then found by their values.
    joinDuplicateHeaders: true,
    // Node's own reply to a request without Host has no body; `malformed` below looks after it.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: Math.min(limits.headersMs, options.requestMs),
    requestTimeout: options.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.expiryCheckMs,
  });
  // A client that closes its half of the connection after the request still gets the reply. (Node's types lack this.)
  Object.assign(server, { httpAllowHalfOpen: true });

  function exchangeOf(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Exchange {
    const exchange = { request, response, requestId: nextRequestId(), expectsContinue, listener: state };
    connections.set(request.socket, exchange);
    return exchange;
  }

  function accept(exchange: Exchange): void {
    const refusal = malformed(exchange.request) ?? unmet(exchange) ?? (draining ? shuttingDown : undefined);
    if (refusal) return sendRefusal(exchange, refusal);
    guarded(exchange, () => options.handle(exchange));
  }

  /** Answers where the parser has given up, in its turn after the replies that are still to come, and closes the connection. */
  function refuseConnection(socket: Duplex, refusal: Refusal): void {
    if (refusedSockets.has(socket)) return;
    refusedSockets.add(socket);
    const last = connections.get(socket);
    if (last === undefined || last.response.writableFinished) return refuseDirectly(socket, refusal);
    // The body of the last request is broken: this is the reply to it, if it has none yet.
    if (!last.request.complete) return sendRefusal(last, refusal);
    last.response.once('close', () => refuseDirectly(socket, refusal));
  }

  function refuseDirectly(socket: Duplex, refusal: Refusal): void {
    if (!socket.writable) return;
    const requestId = nextRequestId();
    options.events.refused(refusal, requestId);
    socket.end(rawReply(refusal, requestId));
    // Half-closed, it reads on for a moment: a client that is still sending would be reset before it has read the reply.
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
    socket.once('end', () => socket.destroy());
    socket.once('close', () => clearTimeout(timer));
  }

  server.on('connection', (socket) => {
    if (!options.connections.add(1, options.connectionsMax)) {
      socket.destroy();
      return;
    }
    connections.set(socket, undefined);
    socket.once('close', () => {
      connections.delete(socket);
      options.connections.take(1);
    });
  });
  server.on('request', (request, response) => accept(exchangeOf(request, response, false)));
  server.on('checkContinue', (request, response) => accept(exchangeOf(request, response, true)));
  server.on('checkExpectation', (request, response) => accept(exchangeOf(request, response, true)));
  server.on('connect', (_request, socket) => refuseConnection(socket, noTunnels));
  server.on('clientError', (error, socket) => {
    const refusal = parserRefusal(error);
    if (refusal) refuseConnection(socket, refusal);
    else socket.destroy();
  });

  // Other threads listen on the port, too. Where that cannot be, there is one thread, and the system does not know the flag.
  server.listen({ port: options.port, host: options.host, reusePort: process.platform === 'linux' });
  await once(server, 'listening');

  return {
    origin: originOf(server.address() as AddressInfo),
    async close(drainMs) {
      draining = true;
      const closed = once(server, 'close');
      server.close();
      for (const last of connections.values()) {
        // A reply that has been written already may still wait for its turn, and does not say that it is the last.
        last?.response.once('close', () => isLast(last) && last.request.socket.destroySoon());
      }
      const cut = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** What Node's parser lets through and RFC 9112 does not. */
function malformed(request: IncomingMessage): Refusal | undefined {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new Refusal('versionUnsupported', 'The service speaks HTTP/1.1 and HTTP/1.0.');
  // RFC 9112 §3.2. Two Host lines have been joined with a comma and a space, and no host has a space in it.
  if (headers.host === undefined && httpVersion === '1.1') return new Refusal('httpMalformed', 'The request has no Host header.');
  if (headers.host !== undefined && !validHost.test(headers.host))
    return new Refusal('httpMalformed', 'The Host header is not one valid host.');
  // RFC 9112 §6.1. The parser takes any codings before `chunked`, and would hand over a body that is still encoded.
  const codings = headers['transfer-encoding'];
  if (codings !== undefined && codings.toLowerCase() !== 'chunked') {
    return new Refusal('httpMalformed', 'The service knows no Transfer-Encoding but chunked.');
  }
  return undefined;
}

/** An `Expect` that holds anything but 100-continue (RFC 9110 §10.1.1). Node takes one that holds it among others for it. */
function unmet({ request, expectsContinue }: Exchange): Refusal | undefined {
  return expectsContinue && request.headers.expect?.toLowerCase() !== '100-continue' ? expectationFailed : undefined;
}

/** uri-host [":" port] (RFC 9110 §7.2, RFC 3986 §3.2.2), or nothing. */
const validHost = /^(?:\[[0-9A-Fa-fv:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

const shuttingDown = new Refusal('shuttingDown', 'The service is shutting down. Nothing was stored; retry later.');
const expectationFailed = new Refusal('expectationFailed', 'The service meets no expectation but 100-continue.');
const noTunnels = new Refusal('methodNotAllowed', 'The service is not a proxy; it takes no CONNECT.', 'POST');

function rawReply(refusal: Refusal, requestId: string): string {
  const { status } = problems[refusal.problem];
  const body = errorBody(refusal);
  const fields = {
    ...errorHeaders(refusal),
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

function originOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
