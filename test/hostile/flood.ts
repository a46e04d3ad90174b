import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** What a thread that floods a server is started with. */
export interface Flood {
  readonly port: number;
  readonly connections: number;
  /** A request is `head`, the next id and `tail`. */
  readonly head: string;
  readonly tail: string;
  readonly firstId: bigint;
  /** Every reply starts with it; the flood fails at the first that does not. */
  readonly reply: string;
}

/*
 * Sends requests over many connections, on each the next one as soon as the last is answered. It
 * says when the flood is in full flow, and once it is told to stop, how many were answered. A
 * thread of its own, so that those who measure beside it do not wait for its work.
 */

const { port, connections, head, tail, firstId, reply } = workerData as Flood;
let sent = 0n;
let answered = 0;
let isOver = false;

const floods = Array.from({ length: connections }, () => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, send)
    .on('error', reject)
    .on('close', resolve);
  let received = '';

  function send(): void {
    if (isOver) return void socket.end();
    socket.write(`${head}${firstId + sent}${tail}`, 'latin1');
    sent += 1n;
  }

  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
    const bodyStart = received.indexOf('\r\n\r\n') + 4;
    const bodyLength = Number(/\r\nContent-Length: (\d+)/.exec(received)?.[1]);
    if (bodyStart < 4 || received.length < bodyStart + bodyLength) return;
    if (!received.startsWith(reply))
      return void socket.destroy(new Error(`not the reply that was expected: ${received}`));
    received = '';
    answered += 1;
    if (answered === connections) parentPort?.postMessage('in full flow');
    send();
  });
  return promise;
});

parentPort?.once('message', () => {
  isOver = true;
});
await Promise.all(floods);
parentPort?.postMessage(sent);
