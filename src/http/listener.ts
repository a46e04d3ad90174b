import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { limits } from '../limits.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { ListenerEvents, ListenerState } from './exchange.ts';

export interface ListenerOptions
  extends Omit<ConnectionOptions, 'listener' | 'headersMs' | 'stuckMs'> {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Other threads, or another service of the user, may listen on the port, too. */
  readonly reusePort: boolean;
  /** From the last byte of a request to its reply. */
  readonly answerMs: number;
  /** A further connection is closed at once. */
  readonly connectionsMax: number;
  /** Connections that the kernel queues. Default: Node's. */
  readonly backlog?: number;
  readonly events: ListenerEvents;
  /** Starts the id of every request. Must differ from run to run. */
  readonly requestIdPrefix: string;
  /** Header lines, with their line ends, of every refusal. */
  readonly refusalLines?: string;
}

export interface Listener {
  /** `http://host:port` as bound. */
  readonly origin: string;
  /** Stops accepting connections. Open connections stay. */
  stopAccepting(): void;
  /**
   * Ends each connection with the reply to its next request. After `idleMs`, ends idle connections
   * and refuses requests that begin. After `drainMs`, cuts the rest.
   *
   * @param idleMs default: `limits.http.drainIdleMs`
   * @returns when every connection is closed
   */
  close(drainMs: number, idleMs?: number): Promise<void>;
}

/** Serves HTTP/1.1 on a port. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const connections = new Set<Connection>();
  const state = createState(options);
  const connectionOptions: ConnectionOptions = {
    ...options,
    listener: state,
    headersMs: Math.min(limits.http.headersMs, options.requestMs),
    // A request arrives, or gets 408, within `requestMs`, and is answered within `answerMs` after
    // that. A client that takes nothing for clearly longer does not read.
    stuckMs: options.requestMs + options.answerMs + limits.http.lingerMs,
  };

  function accept(socket: Socket): void {
    const { counters, eviction } = options;
    if (!counters.connections.add(1, options.connectionsMax)) return void socket.destroy();
    const connection = new Connection(socket, connectionOptions);
    connections.add(connection);
    eviction?.add(connection);
    socket.once('close', () => {
      connections.delete(connection);
      eviction?.remove(connection);
      counters.connections.take(1);
    });
  }

  // A client that closes its half of the connection after a request still gets the reply.
  const server = createServer(
    { allowHalfOpen: true, noDelay: true, highWaterMark: limits.http.unsentBytes },
    accept,
  );
  // Other operating systems do not know the flag, and have one thread.
  const reusePort = options.reusePort && process.platform === 'linux';
  server.listen({ port: options.port, host: options.host, reusePort, backlog: options.backlog });
  await once(server, 'listening');
  const closed = once(server, 'close');
  const expiring = setInterval(() => {
    state.nowMs = performance.now();
    state.date = new Date().toUTCString();
    for (const connection of connections) connection.expire(state.nowMs);
  }, limits.http.expiryCheckMs);

  return {
    origin: originOf(server.address() as AddressInfo),
    stopAccepting: () => void server.close(),
    async close(drainMs, idleMs = limits.http.drainIdleMs) {
      if (server.listening) server.close();
      state.phase = 'ending';
      const refusing = setTimeout(() => {
        state.phase = 'refusing';
        for (const connection of connections) connection.endIfIdle();
      }, idleMs);
      const cut = setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, drainMs);
      await closed;
      clearTimeout(refusing);
      clearTimeout(cut);
      clearInterval(expiring);
    },
  };
}

function createState(options: ListenerOptions) {
  let requests = 0;
  return {
    events: options.events,
    requestIdPrefix: options.requestIdPrefix,
    refusalLines: options.refusalLines ?? '',
    keepAliveLines: `Connection: keep-alive\r\nKeep-Alive: timeout=${options.idleMs / 1_000}\r\n`,
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as ListenerState['phase'],
    // Every request needs both, so the clock is read twice a second and not for each request.
    nowMs: performance.now(),
    date: new Date().toUTCString(),
    now: () => performance.now(),
  };
}

function originOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
