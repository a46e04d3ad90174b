/** A connection on a raw socket: an HTTP client would cost more CPU time than the service. */
import { connect } from 'node:net';
import type { LoadOrder } from '../load-generator.ts';
import { dialects, requestAroundId } from '../plant.ts';

export interface Connection {
  /** Of the create that is under way. */
  dueMs: number;
  /** One create at a time: the next create may follow after `onAcknowledged`. */
  create(id: bigint): void;
  end(): void;
}

export interface ConnectionEvents {
  onAcknowledged(connection: Connection): void;
  /** The reply was no acknowledgement, or the connection was lost. */
  onFailure(error: Error): void;
}

const responseBytesMax = 16 * 1024;

/** Resolves when the connection is open. */
export function openConnection(
  { port, token, ids = 'short', dialect: name = 'plants' }: LoadOrder,
  { onAcknowledged, onFailure }: ConnectionEvents,
): Promise<Connection> {
  const dialect = dialects[name];
  const { head, tail } = requestAroundId(dialect, port, token, ids);
  let received = '';
  let isEnding = false;

  // One buffer for the life of the connection, so that no reply allocates one.
  const buffer = Buffer.allocUnsafe(responseBytesMax);
  const onread = { buffer, callback: onRead };
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
  const connection: Connection = {
    dueMs: 0,
    create(id) {
      socket.write(head + id + tail, 'latin1');
    },
    end() {
      isEnding = true;
      socket.end();
    },
  };
  socket.once('error', onFailure);
  socket.once('close', () => {
    if (!isEnding) onFailure(new Error('the target closed a connection'));
  });

  function onRead(length: number): boolean {
    received += buffer.toString('latin1', 0, length);
    const answer = readResponse(received, dialect.isPlant);
    if (answer === 'refused') socket.destroy(new Error(`not an acknowledgement:\n${received}`));
    if (answer === 'acknowledged') {
      received = '';
      onAcknowledged(connection);
    }
    return true; // keep reading
  }

  return new Promise((resolve) => socket.once('connect', () => resolve(connection)));
}

/** Reads status line, Content-Length and body of the reply, or of its part that has arrived. */
function readResponse(
  text: string,
  isPlant: (body: string) => boolean,
): 'acknowledged' | 'refused' | 'incomplete' {
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  if (bodyAt < 4) return 'incomplete';
  const bodyBytes = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(text)?.[1]);
  if (text.length < bodyAt + bodyBytes) return 'incomplete';
  const isWhole = text.startsWith('HTTP/1.1 200 ') && text.length === bodyAt + bodyBytes;
  return isWhole && isPlant(text.slice(bodyAt)) ? 'acknowledged' : 'refused';
}
