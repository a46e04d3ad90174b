import { connect, type Socket } from 'node:net';
import type { Owner } from '../helpers/program.ts';

/** One of many clients that misbehave: it notes what it gets, and when the server has closed. */
export interface Member {
  readonly socket: Socket;
  received(): string;
  /** Resolves when either side has closed the connection. */
  readonly gone: Promise<unknown>;
}

/** Opens `count` connections; those that are still open when the test ends are destroyed. */
export function connectCrowd(owner: Owner, port: number, count: number): Promise<Member[]> {
  return Promise.all(Array.from({ length: count }, () => join(owner, port)));
}

async function join(owner: Owner, port: number): Promise<Member> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  owner.after(() => socket.destroy());
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
  // A reset is one of the ways to be closed.
  socket.on('error', () => undefined);
  const gone = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), gone]);
  return { socket, received: () => received, gone };
}

/** Resolves when the member has received something more, or its connection is gone. */
export function untilAnswered({ socket, gone }: Member): Promise<unknown> {
  return Promise.race([gone, new Promise((resolve) => socket.once('data', resolve))]);
}

/** Sends `bytes` on each connection one byte at a time, until the connection is gone. */
export function trickle(
  owner: Owner,
  members: readonly Member[],
  bytes: Uint8Array,
  everyMs: number,
): void {
  let sent = 0;
  const timer = setInterval(() => {
    const byte = bytes.subarray(sent, sent + 1);
    sent += 1;
    for (const { socket } of members) if (socket.writable) socket.write(byte);
  }, everyMs);
  owner.after(() => clearInterval(timer));
}

/** Resolves when the server has taken nothing for a while, or has closed. */
export function writeUntilStuck(socket: Socket, bytes: Buffer, stuckMs: number): Promise<unknown> {
  socket.pause();
  return new Promise((resolve) => {
    let stuck: NodeJS.Timeout | undefined;
    const fill = () => {
      clearTimeout(stuck);
      while (socket.writable && socket.write(bytes));
      stuck = setTimeout(resolve, stuckMs);
    };
    socket.on('drain', fill).once('close', resolve);
    fill();
  });
}
