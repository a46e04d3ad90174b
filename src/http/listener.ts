import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBody, errorHeaders, problems, Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../shared-counter.ts';
import { type Exchange, guarded, type ListenerEvents, type ListenerState, sendRefusal } from './exchange.ts';
import { isUnknownMethod, lineOfUnknownMethod, methodRefusal, noRequestLine, type ParserError, parserRefusal } from './parser-errors.ts';
import { validHost } from './uri.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  readonly requestMs: number;
  readonly commitMs: number;
  readonly connectionsMax: number;
  /** What this listener and those that share the counters hold together. */
  readonly held: {
    readonly connections: SharedCounter;
    /** Requests that have arrived on a connection before the reply to the one before them was sent. */
    readonly pipelinedRequests: SharedCounter;
  };
  readonly handle: (exchange: Exchange) => void;
  readonly events: ListenerEvents;
  /** Starts the id of every request, so that ids of several runs differ. */
  readonly requestIdPrefix: string;
}

export interface Listener {
  /** `http://host:port` as bound. */
  readonly origin: string;
  /** Accepts no connection from now on; those that are open go on as before. */
  stopAccepting(): void;
  /**
   * Ends every connection with the reply to its next request, or when it has been idle for a while; refuses requests that
   * begin after that; resolves when every connection is closed. Those that are still busy after `drainMs` are cut.
   */
  close(drainMs: number): Promise<void>;
}

/** An open connection. */
interface Connection {
  /** Requests whose replies have not been sent. */
  unanswered: number;
  /** The one that came last of these: replies are sent in the order of the requests, so it is answered last. */
  last?: Exchange | undefined;
  /** Its reply says that it is the last, so nothing behind it is looked at (RFC 9112 §9.6). */
  final?: Exchange;
  /** Nothing more is read until replies have been sent. */
  paused?: boolean;
  /** The parser has given up. */
  refused?: true;
  /** What has come of a request line with a method that the parser does not know. */
  line?: string;
}

/** Opens the public port. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { held } = options;
  let state: 'open' | 'ending' | 'refusing' = 'open';
  const connections = new Map<Duplex, Connection>();
  const listenerState: ListenerState = {
    events: options.events,
    closesAfter(exchange) {
      const connection = connections.get(exchange.request.socket);
      return connection?.final === exchange || (state !== 'open' && connection?.last === exchange);
    },
    closeAfter(exchange) {
      const connection = connections.get(exchange.request.socket);
      if (connection) connection.final ??= exchange;
    },
  };
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
  // A request has arrived, or is answered with 408, within `requestMs`, and is answered within `commitMs` of that. If nothing
  // has moved for clearly longer, the client does not read.
  server.timeout = options.requestMs + options.commitMs + limits.lingerMs;
  server.maxHeadersCount = limits.headerFieldsMax;
  // A client that closes its half of the connection after the request still gets the reply. (Node's types lack this.)
  Object.assign(server, { httpAllowHalfOpen: true });

  function accept(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined || socket.destroyed) return;
    if (connection.final) return readOver(request);
    // A refusal would have to wait for its turn, too, and hold as much memory.
    if (connection.unanswered > 0 && !mayPipeline(connection)) return void socket.destroy();
    const exchange = { request, response, requestId: nextRequestId(), expectsContinue, listener: listenerState };
    connection.unanswered += 1;
    connection.last = exchange;
    if (endsConnection(request)) connection.final = exchange;
    response.on('close', replied);
    if (connection.unanswered >= limits.pipelineReadMax) pause(connection, socket);
    const refusal = malformed(exchange.request) ?? unmet(exchange) ?? (state === 'refusing' ? shuttingDown : undefined);
    if (refusal) return sendRefusal(exchange, refusal);
    guarded(exchange, () => options.handle(exchange));
  }

  function mayPipeline({ unanswered }: Connection): boolean {
    return unanswered < limits.pipelineMax && held.pipelinedRequests.add(1, limits.pipelinedInAllMax);
  }

  /** Node alone would go on reading while replies are due, and let one connection have the thread for seconds. */
  function pause(connection: Connection, socket: Socket): void {
    connection.paused = true;
    socket.pause();
  }

  function replied(this: ServerResponse): void {
    const connection = connections.get(this.req.socket);
    if (connection === undefined) return;
    connection.unanswered -= 1;
    if (connection.paused && connection.unanswered < limits.pipelineReadMax) {
      connection.paused = false;
      this.req.socket.resume();
    }
    if (connection.unanswered > 0) return held.pipelinedRequests.take(1);
    connection.last = undefined;
    // A reply that was written before the end began, and waited for its turn, has not said that it is the last.
    if (state === 'refusing') this.req.socket.destroySoon();
  }

  /** Answers where the parser has given up, in its turn after the replies that are still to come, and closes the connection. */
  function refuseConnection(socket: Duplex, refusal: Refusal): void {
    const connection = connections.get(socket);
    if (connection === undefined || connection.refused) return;
    connection.refused = true;
    const { last, final } = connection;
    if (final?.request.complete) return;
    if (last === undefined || last.response.writableFinished) return refuseDirectly(socket, refusal);
    if (last.request.complete) return void last.response.once('close', () => refuseDirectly(socket, refusal));
    // The body of the last request is broken: this is the reply to it, if it has none yet.
    if (!last.response.headersSent) return sendRefusal(last, refusal);
    if (final === undefined) last.response.once('close', () => linger(socket)).end();
  }

  /** Answers once the whole request line is there, so that the answer does not depend on the packets that it comes in. */
  function refuseMethod(socket: Duplex, error: ParserError): void {
    const connection = connections.get(socket);
    if (connection === undefined || connection.refused) return;
    if (connection.line === undefined) socket.prependOnceListener('end', () => refuseConnection(socket, noRequestLine));
    connection.line = lineOfUnknownMethod(error, connection.line);
    const refusal = methodRefusal(connection.line);
    if (refusal !== 'unfinished') refuseConnection(socket, refusal);
  }

  function refuseDirectly(socket: Duplex, refusal: Refusal): void {
    if (!socket.writable) return;
    const requestId = nextRequestId();
    options.events.refused(refusal, requestId);
    socket.write(rawReply(refusal, requestId));
    linger(socket);
  }

  server.on('connection', (socket) => {
    if (!held.connections.add(1, options.connectionsMax)) {
      socket.destroy();
      return;
    }
    const connection: Connection = { unanswered: 0 };
    connections.set(socket, connection);
    // Node resumes reading with each body that it hands over.
    socket.on('resume', () => connection.paused && socket.pause());
    socket.once('close', () => {
      connections.delete(socket);
      held.connections.take(1);
      if (connection.unanswered > 1) held.pipelinedRequests.take(connection.unanswered - 1);
    });
  });
  server.on('request', (request, response) => accept(request, response, false));
  server.on('checkContinue', (request, response) => accept(request, response, true));
  server.on('checkExpectation', (request, response) => accept(request, response, true));
  server.on('connect', ({ socket }) => {
    // Node has taken its listeners away, and a reset of the connection that nobody listens for would end the process.
    socket.on('error', () => socket.destroy());
    refuseConnection(socket, noTunnels);
  });
  server.on('clientError', (error, socket) => {
    if (isUnknownMethod(error)) return refuseMethod(socket, error);
    const refusal = parserRefusal(error);
    if (refusal) refuseConnection(socket, refusal);
    else socket.destroy();
  });

  // Other threads listen on the port, too. Where that cannot be, there is one thread, and the system does not know the flag.
  server.listen({ port: options.port, host: options.host, reusePort: process.platform === 'linux' });
  await once(server, 'listening');

  const closed = once(server, 'close');
  /** Of `net.Server`: that of `http.Server` also closes the connections that are idle. */
  const stopAccepting = () => void NetServer.prototype.close.call(server);

  return {
    origin: originOf(server.address() as AddressInfo),
    stopAccepting,
    async close(drainMs) {
      if (server.listening) stopAccepting();
      state = 'ending';
      const refusing = setTimeout(() => {
        state = 'refusing';
        server.closeIdleConnections();
      }, limits.drainIdleMs);
      const cut = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearTimeout(refusing);
      clearTimeout(cut);
    },
  };
}

/** Ends the connection, but reads on for a moment: a client that is still sending would be reset before it has read the reply. */
function linger(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
}

/** Takes the connection away from the parser, from this request on: what comes is read and thrown away. */
function readOver(request: IncomingMessage): void {
  request.resume();
  request.socket.removeAllListeners('data').on('data', () => {});
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
  if (codings !== undefined && (httpVersion === '1.0' || codings.toLowerCase() !== 'chunked')) {
    return new Refusal('httpMalformed', 'The service knows no Transfer-Encoding but chunked, and none in HTTP/1.0.');
  }
  return undefined;
}

/** Whether the reply has to be the last on its connection, though the parser would go on after it. */
function endsConnection({ httpVersion, headers }: IncomingMessage): boolean {
  // Behind a request that asks for another protocol, the parser skips the rest of the packet, which may be half of a request.
  if (headers.upgrade !== undefined) return true;
  // RFC 9112 §9.3: `close` counts more than `keep-alive`. The parser has it the other way round in HTTP/1.0.
  return httpVersion === '1.0' && closeOption.test(headers.connection ?? '');
}

const closeOption = /(?:^|[\t ,])close(?:$|[\t ,])/i;

/** An `Expect` that holds anything but 100-continue (RFC 9110 §10.1.1). Node takes one that holds it among others for it. */
function unmet({ request, expectsContinue }: Exchange): Refusal | undefined {
  return expectsContinue && request.headers.expect?.toLowerCase() !== '100-continue' ? expectationFailed : undefined;
}

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
