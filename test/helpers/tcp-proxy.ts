import { connect, createServer, type Socket } from 'node:net';
import { listenFor } from './free-port.ts';
import type { Owner } from './program.ts';

/** Stands between a client and a server on this machine. It is closed when the owner ends. */
export interface TcpProxy {
  readonly port: number;
  /**
   * From now on nothing that the server sends arrives, or nothing at all, and neither side learns
   * that the other has closed. A connection that is there now, or is made until `heal`, stays like
   * that.
   */
  swallow(what: 'replies' | 'everything'): void;
  /** From now on what the server sends is kept, and arrives at once with `heal`. */
  delayReplies(): void;
  /** From now on a client that sends this text is cut off, and the text does not arrive. */
  cutAt(text: string): void;
  heal(): void;
  /** Resets the connections of the clients. */
  reset(): void;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  swallows: 'replies' | 'everything' | undefined;
}

export async function startProxy(owner: Owner, targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  let swallows: Link['swallows'];
  let isDelaying = false;
  let cut: string | undefined;
  const listener = createServer((client) => {
    const server = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    client.on('data', (chunk) => cut !== undefined && chunk.includes(cut) && client.destroy());
    links.add(join({ client, server, swallows }));
    if (isDelaying) server.pause();
  });
  owner.after(() => {
    for (const { server } of links) server.destroy();
  });
  return {
    port: await listenFor(owner, listener),
    swallow(what) {
      swallows = what;
      for (const link of links) link.swallows ??= what;
    },
    delayReplies() {
      isDelaying = true;
      for (const { server } of links) server.pause();
    },
    cutAt: (text) => void (cut = text),
    heal() {
      swallows = undefined;
      cut = undefined;
      isDelaying = false;
      for (const { server } of links) server.resume();
    },
    reset() {
      for (const { client } of links) client.resetAndDestroy();
    },
  };
}

function join(link: Link): Link {
  const { client, server } = link;
  client.on(
    'data',
    (chunk) => link.swallows !== 'everything' && !client.destroyed && server.write(chunk),
  );
  server.on('data', (chunk) => link.swallows === undefined && client.write(chunk));
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    socket.on('close', () => link.swallows === undefined && other.destroy());
    // What it means is said by 'close', which follows.
    socket.on('error', () => {});
  }
  return link;
}
