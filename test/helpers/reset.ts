import type { Socket } from 'node:net';

/**
 * Resets a connection, or closes it if its end is under way: Node fails to reset such a socket with
 * EINVAL, never closes its handle, and the process then spins at its exit.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
