/** A connection on a raw socket: an HTTP client would cost more CPU time than the service. */
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
  const { head, tail } = requestAroundId(port, order.token, order.ids ?? 'short');
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
    create: (id) => void socket.write(head + id + tail, 'latin1'),
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
