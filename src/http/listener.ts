import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { refuseConnection, refuseMethod } from './broken-connection.ts';
import { type HeldByConnections, trackConnections } from './connection.ts';
import { type Exchange, guarded, type ListenerEvents, type ListenerState, sendRefusal } from './exchange.ts';
import { isUnknownMethod, parserRefusal } from './parser-errors.ts';
import { endsConnection, malformed, unmet } from './request-rules.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  readonly requestMs: number;
  readonly commitMs: number;
  readonly connectionsMax: number;
  readonly held: HeldByConnections;
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

/** Opens the public port. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions): Promise<Listener> {
  let requests = 0;
  const listener: { -readonly [K in keyof ListenerState]: ListenerState[K] } = {
    events: options.events,
    nextRequestId: () => `${options.requestIdPrefix}-${((requests += 1)).toString(36)}`,
    phase: 'open',
  };
  const connections = trackConnections(listener, options.held, options.connectionsMax);

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
    const connection = connections.of(socket);
    if (connection === undefined || socket.destroyed) return;
    if (connection.final) return readOver(request);
    const exchange = { request, response, requestId: listener.nextRequestId(), expectsContinue, connection };
    // A refusal would have to wait for its turn, too, and hold as much memory.
    if (!connections.begin(exchange)) return void socket.destroy();
    if (endsConnection(request)) connection.final = exchange;
    const refusal = malformed(request) ?? unmet(exchange) ?? (listener.phase === 'refusing' ? shuttingDown : undefined);
    if (refusal) return sendRefusal(exchange, refusal);
    guarded(exchange, () => options.handle(exchange));
  }

  server.on('connection', (socket) => {
    if (!connections.open(socket)) socket.destroy();
  });
  server.on('request', (request, response) => accept(request, response, false));
  server.on('checkContinue', (request, response) => accept(request, response, true));
  server.on('checkExpectation', (request, response) => accept(request, response, true));
  server.on('connect', ({ socket }) => {
    // Node has taken its listeners away, and a reset of the connection that nobody listens for would end the process.
    socket.on('error', () => socket.destroy());
    const connection = connections.of(socket);
    if (connection) refuseConnection(socket, connection, noTunnels);
  });
  server.on('clientError', (error, socket) => {
    const connection = connections.of(socket);
    const refusal = parserRefusal(error);
    if (connection === undefined || refusal === undefined) return void socket.destroy();
    if (isUnknownMethod(error)) return refuseMethod(socket, connection, error);
    refuseConnection(socket, connection, refusal);
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
      listener.phase = 'ending';
      const refusing = setTimeout(() => {
        listener.phase = 'refusing';
        server.closeIdleConnections();
      }, limits.drainIdleMs);
      const cut = setTimeout(() => server.closeAllConnections(), drainMs);
      await closed;
      clearTimeout(refusing);
      clearTimeout(cut);
    },
  };
}

/** Takes the connection away from the parser, from this request on: what comes is read and thrown away. */
function readOver(request: IncomingMessage): void {
  request.resume();
  request.socket.removeAllListeners('data').on('data', () => {});
}

const shuttingDown = new Refusal('shuttingDown', 'The service is shutting down. Nothing was stored; retry later.');
const noTunnels = new Refusal('methodNotAllowed', 'The service is not a proxy; it takes no CONNECT.', 'POST');

function originOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
