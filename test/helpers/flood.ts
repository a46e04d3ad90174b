import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * A thread that holds as many connections as it is told, each with the same bytes sent, and opens
 * another at once for each that is closed. It reports the first that the server has closed.
 */

const { port, connections, bytes } = workerData as {
  port: number;
  connections: number;
  bytes: string;
};

function open(): void {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(bytes));
  // A reset is one of the ways to be closed.
  socket.on('error', () => undefined);
  socket.resume().once('close', () => {
    parentPort?.postMessage('closed');
    setImmediate(open);
  });
}

for (let opened = 0; opened < connections; opened += 1) open();
