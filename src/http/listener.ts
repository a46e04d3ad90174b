import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { Crowd, type CrowdOptions } from './crowd.ts';
import {
  type ListenerEvents,
  type ListenerState,
  type ReplyLines,
  sendRefusal,
} from './exchange.ts';
import { RememberedHeads } from './remembered-heads.ts';
import type { TlsMaterial } from './tls.ts';

export interface ListenerOptions
  extends Omit<ConnectionOptions, 'listener' | 'crowd' | 'stuckMs' | 'counters'>,
    CrowdOptions {
  readonly bodyBytesMax: number;
  readonly counters: ConnectionOptions['counters'] & CrowdOptions['counters'];
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial | undefined;
  /** Other threads, or another service of the user, may listen on the port, too. */
  readonly reusePort: boolean;
  /** From the last byte of a request to its reply. */
  readonly answerMs: number;
  /** Connections that the kernel queues. Default: Node's. */
  readonly backlog?: number;
  readonly events: ListenerEvents;
  /** Starts the id of every request. Must differ from run to run. */
  readonly requestIdPrefix: string;
  /** Header lines, with their line ends, of every refusal. */
  readonly refusalLines?: string;
  readonly replyLines?: ReplyLines | undefined;
}

export type Listener = Awaited<ReturnType<typeof listen>>;

/** Serves HTTP/1.1 on a port. @throws the error of listen(2), such as EADDRINUSE */
export async function listen(options: ListenerOptions) {
  const crowd = new Crowd<Connection>(options, () => tls?.endOldest() ?? false);
  const state = createState(options);
  const connectionOptions: ConnectionOptions = {
    ...options,
    listener: state,
    crowd,
    // A request arrives, or gets 408, within `limits.http.requestMs`, and is answered within
    // `answerMs` after that. A client that takes nothing for clearly longer does not read.
    stuckMs: limits.http.requestMs + options.answerMs + limits.http.lingerMs,
  };

  // Without TLS, the code of Node for TLS is not loaded: it takes 8 ms and 3 MB.
  const tls =
    options.tls &&
    (await import('./tls.ts')).openTlsLayer(options.tls, serve, refusePlain, (change) =>
      options.counters.strangers.add(change, Number.POSITIVE_INFINITY),
    );

  let accepted = 0;
  function accept(socket: Socket): void {
    accepted += 1;
    if (!crowd.enter()) return void socket.destroy();
    socket.once('close', () => crowd.leave());
    if (tls) tls.accept(socket);
    else serve(socket);
  }

  function serve(socket: Socket, below = socket, using = connectionOptions): void {
    crowd.add(new Connection(socket, below, using));
  }

  function refusePlain(socket: Socket): void {
    serve(socket, socket, {
      ...connectionOptions,
      handle: (exchange) => sendRefusal(exchange, notEncrypted),
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
    for (const connection of crowd.members) connection.expire(state.nowMs);
    tls?.expire(state.nowMs);
  }, limits.http.expiryCheckMs);

  /** First takes the connections that the kernel has made already: it would reset them. */
  async function stopAccepting(): Promise<void> {
    const endMs = performance.now() + limits.http.lastAcceptsMs;
    for (let before = -1; accepted !== before && performance.now() < endMs; ) {
      before = accepted;
      // A turn of the event loop between the two accepts a connection that waits.
      await nextTurn();
      await nextTurn();
    }
    server.close();
  }

  return {
    endStranger: () => crowd.endStranger(),
    origin: originOf(tls ? 'https' : 'http', server.address() as AddressInfo),
    renewTls: (material: TlsMaterial) => tls?.renew(material),
    stopAccepting,
    /**
     * Ends each connection with the reply to its next request. After `idleMs`, ends idle
     * connections and refuses requests that begin. After `drainMs`, cuts the rest.
     *
     * @returns when every connection is closed
     */
    async close(drainMs: number, idleMs: number): Promise<void> {
      if (server.listening) await stopAccepting();
      state.phase = 'ending';
      const refusing = setTimeout(() => {
        state.phase = 'refusing';
        tls?.endHandshakes();
        for (const connection of crowd.members) connection.endIfIdle();
      }, idleMs);
      const cut = setTimeout(() => {
        for (const connection of crowd.members) connection.destroy();
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
    heads: new RememberedHeads(),
    bodyBytesMax: options.bodyBytesMax,
    requestIdPrefix: options.requestIdPrefix,
    refusalLines: options.refusalLines ?? '',
    replyLines: options.replyLines,
    keepAliveLines: `Connection: keep-alive\r\nKeep-Alive: timeout=${options.idleMs / 1_000}\r\n`,
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as ListenerState['phase'],
    // Every request needs both, so the clock is read twice a second and not for each request.
    nowMs: performance.now(),
    date: new Date().toUTCString(),
    now: () => performance.now(),
  };
}

const notEncrypted = new Refusal(
  'httpMalformed',
  'This port takes encrypted connections only. Send the request to an https URL.',
);

function originOf(scheme: string, { address, family, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
