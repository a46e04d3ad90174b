import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { limits } from '../limits.ts';
import { Connection, type HeldByConnections } from './connection.ts';
import type { Handle, ListenerEvents } from './exchange.ts';
import { keepAliveLines } from './reply.ts';
import type { Room } from './room.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
  /**
   * Whether threads of this process, or another service of the user, may listen on the port, too.
   */
  readonly reusePort: boolean;
  readonly bodyBytesMax: number;
  readonly requestMs: number;
  /** From the last byte of a request to its reply. */
  readonly answerMs: number;
  /** How long a connection is kept without a request. */
  readonly idleMs: number;
  /** A connection beyond these is closed at once. */
  readonly connectionsMax: number;
  /** Connections that the system keeps until they are accepted; Node's default without it. */
  readonly backlog?: number;
  /** Makes room for a new connection by closing another. */
  readonly room?: Room;
  readonly held: HeldByConnections;
  readonly handle: Handle;
  readonly events: ListenerEvents;
  /** Starts the id of every request, so that ids of several runs differ. */
  readonly requestIdPrefix: string;
  /** Header lines, with their ends, of every refusal. */
  readonly refusalLines?: string;
}

export interface Listener {
  /** `http://host:port` as bound. */
  readonly origin: string;
  /** Accepts no connection from now on; those that are open go on as before. */
  stopAccepting(): void;
  /**
   * Ends every connection with the reply to its next request, or when it has been idle for a while;
   * refuses requests that begin after that; resolves when every connection is closed. Those that
   * are still busy after `drainMs` are cut.
   *
   * @param idleMs that while; `limits.http.drainIdleMs` unless it is given
   */
  close(drainMs: number, idleMs?: number): Promise<void>;
}

/** Opens a port that is served with HTTP/1.1. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const connections = new Set<Connection>();
  let requests = 0;
  const state = {
    events: options.events,
    requestIdPrefix: options.requestIdPrefix,
    refusalLines: options.refusalLines ?? '',
    keepAliveLines: keepAliveLines(options.idleMs),
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as 'open' | 'ending' | 'refusing',
    // Looked at for every request, and asked of the system only now and then.
    nowMs: performance.now(),
    now: () => performance.now(),
    date: new Date().toUTCString(),
  };
  const connectionOptions = {
    listener: state,
    held: options.held,
    bodyBytesMax: options.bodyBytesMax,
    handle: options.handle,
    room: options.room,
    idleMs: options.idleMs,
    headersMs: Math.min(limits.http.headersMs, options.requestMs),
    requestMs: options.requestMs,
    // A request has arrived, or is answered with 408, within `requestMs`, and is answered within
    // `answerMs` of that. If nothing has moved for clearly longer, the client does not read.
    stuckMs: options.requestMs + options.answerMs + limits.http.lingerMs,
  };

  function expire(): void {
    state.nowMs = performance.now();
    state.date = new Date().toUTCString();
    for (const connection of connections) connection.expire(state.nowMs);
  }

  // A client that closes its half of the connection after the request still gets the reply.
  const server = createServer(
    { allowHalfOpen: true, noDelay: true, highWaterMark: limits.http.unsentBytes },
    (socket) => {
      if (!options.held.connections.add(1, options.connectionsMax)) return void socket.destroy();
      const connection = new Connection(socket, connectionOptions);
      connections.add(connection);
      options.room?.enter(connection);
      socket.once('close', () => {
        connections.delete(connection);
        options.room?.leave(connection);
        options.held.connections.take(1);
      });
    },
  );

  // Where the system does not know the flag, there is one thread.
  const reusePort = options.reusePort && process.platform === 'linux';
  server.listen({ port: options.port, host: options.host, reusePort, backlog: options.backlog });
  await once(server, 'listening');

  const expiring = setInterval(expire, limits.http.expiryCheckMs);
  const closed = once(server, 'close');

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

function originOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
