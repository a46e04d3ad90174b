/** A connection on a raw socket: an HTTP client would cost more CPU time than the service. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { plantBody, requestAroundId } from '../plant.ts';
import type { LoadOrder } from './order.ts';

export interface Connection {
  /** One create at a time: the next create may follow after `onAcknowledged`. */
  create(id: bigint): void;
  end(): void;
}

export interface ConnectionEvents {
  onReady(connection: Connection): void;
  onAcknowledged(connection: Connection): void;
  /** The reply was no acknowledgement, or the connection was lost. */
  onFailure(error: Error): void;
}

const responseBytesMax = 16 * 1024;

/** @param index of the connection. Connections are dealt out to the target's processes by it. */
export function openConnection(order: LoadOrder, index: number, events: ConnectionEvents): void {
  const port = order.ports[index % order.ports.length] ?? 0;
  const requestAround = requestsWith(order, port);
  let received = '';
  let isEnding = false;

  const buffer = Buffer.allocUnsafe(responseBytesMax);
  const options = {
    host: '127.0.0.1',
    port,
    noDelay: true,
    // One buffer for the life of the connection, so that no reply allocates one.
    onread: { buffer, callback: onRead },
  };
  const socket = order.isEncrypted
    ? connectTls({ ...options, rejectUnauthorized: false })
    : connect(options);
  const connection: Connection = {
    create(id) {
      const { head, tail } = requestAround();
      socket.write(head + id + tail, 'latin1');
    },
    end() {
      isEnding = true;
      socket.end();
    },
  };
  socket.once(order.isEncrypted ? 'secureConnect' : 'connect', () => events.onReady(connection));
  socket.once('error', events.onFailure);
  socket.once('close', () => {
    if (!isEnding) events.onFailure(new Error('the target closed a connection'));
  });

  function onRead(length: number): boolean {
    received += buffer.toString('latin1', 0, length);
    const answer = readResponse(received);
    if (answer === 'refused') socket.destroy(new Error(`not an acknowledgement:\n${received}`));
    if (answer === 'acknowledged') {
      received = '';
      events.onAcknowledged(connection);
    }
    return true; // keep reading
  }
}

/** Takes the tokens in turn, over all connections. */
function requestsWith(order: LoadOrder, port: number): () => { head: string; tail: string } {
  const made = (token: string) => requestAroundId(port, token, order.ids ?? 'short');
  if (typeof order.tokens === 'string') {
    const request = made(order.tokens);
    return () => request;
  }
  requests ??= JSON.parse(readFileSync(order.tokens.file, 'utf8')).map(made) as Requests;
  const all = requests;
  return () => all[(taken += 1) % all.length] as Requests[number];
}

type Requests = readonly { head: string; tail: string }[];
let requests: Requests | undefined;
let taken = 0;

/** Reads status line, Content-Length and body of the reply, or of its part that has arrived. */
function readResponse(text: string): 'acknowledged' | 'refused' | 'incomplete' {
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  if (bodyAt < 4) return 'incomplete';
  const bodyBytes = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(text)?.[1]);
  if (text.length < bodyAt + bodyBytes) return 'incomplete';
  const isPlant = text.startsWith('HTTP/1.1 200 ') && bodyBytes === plantBody.length;
  return isPlant && text.endsWith(plantBody) && text.length === bodyAt + bodyBytes
    ? 'acknowledged'
    : 'refused';
}
