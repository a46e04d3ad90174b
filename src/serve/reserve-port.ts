import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { limits } from '../limits.ts';

/**
 * Checks that the port is free, and finds the port that 0 stands for. Threads share a port, so
 * without the check they would share it with another program, too. A port for 0 stays reserved, so
 * that no other program gets it before the threads listen. A client that connects until then is cut
 * off: a connection that stays open would hold up the start.
 */
export async function reservePort(host: string, port: number) {
  const isShared = port === 0 && process.platform === 'linux';
  const probe = createServer((client) => client.resetAndDestroy());
  probe.listen({ host, port, reusePort: isShared });
  await once(probe, 'listening');
  const reserved = (probe.address() as AddressInfo).port;
  const close = async () => {
    if (!probe.listening) return;
    probe.close();
    await once(probe, 'close');
  };
  if (!isShared) await close();
  return { port: reserved, [Symbol.asyncDispose]: close };
}

/** Whether any process accepts connections on the port. */
export async function isAccepting(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(limits.service.portProbeMs) });
    return true;
  } catch {
    // Refused, or without an answer.
    return false;
  } finally {
    socket.destroy();
  }
}
