/**
 * One connection to the target, on a raw socket: an HTTP client library costs more than the service
 * measured.
 */
import { connect } from 'node:net';
import { plantBody, requestAroundId } from '../plant.ts';
import type { LoadOrder } from './order.ts';

export interface Connection {
  /** One create at a time: the next one may be sent when `onAcknowledged` has been called. */
  create(id: bigint): void;
  end(): void;
}

export interface ConnectionEvents {
  onReady(connection: Connection): void;
  onAcknowledged(connection: Connection): void;
  /** The answer was no acknowledgement, or the connection was lost. */
  onFailure(error: Error): void;
}

const responseBytesMax = 16 * 1024;

/** @param index of the connection, by which the processes of the target take turns */
export function openConnection(order: LoadOrder, index: number, events: ConnectionEvents): void {
  const port = order.ports[index % order.ports.length] ?? 0;
  const { head, tail } = requestAroundId(port, order.token, order.ids ?? 'short');
  let received = '';
  let isEnding = false;

  const buffer = Buffer.allocUnsafe(responseBytesMax);
  const socket = connect({
    host: '127.0.0.1',
    port,
    noDelay: true,
    // One buffer for the life of the connection: no stream, and no allocation for every response.
    onread: { buffer, callback: onRead },
  });
  const connection: Connection = {
    create: (id) => void socket.write(head + id + tail, 'latin1'),
    end() {
      isEnding = true;
      socket.end();
    },
  };
  socket.once('connect', () => events.onReady(connection));
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

/** Reads the status line, the Content-Length and the body, as far as they have arrived. */
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
