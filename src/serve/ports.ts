import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { CommandError } from '../cli/command.ts';
import type { Environment } from '../cli/flags/environment.ts';
import { limits } from '../limits.ts';

/**
 * Checks that the port is free, which threads would share with another program. Finds the port that
 * 0 stands for, and reserves it until the threads listen. A client that connects until then is cut
 * off: an open connection would hold up the start.
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

/**
 * Explains the usual errors of listen(2).
 *
 * @param prefix of the flags for the address
 * @returns a CommandError, or `error` itself
 */
export function listenError(
  error: unknown,
  prefix: '' | 'ops-',
  host: string,
  port: number | 'off',
  env: Environment,
): unknown {
  // npm keeps the flags that are not behind `--` for itself.
  const npmForm = `, as in "npm start -- --${prefix}port 9000"`;
  const withPort = `with --${prefix}port${env['npm_lifecycle_event'] === 'start' ? npmForm : ''}`;
  const elsewhere = `${host} is not an address of this machine; choose another address with --${prefix}host`;
  const causes: Readonly<Record<string, string>> = {
    EADDRINUSE:
      `port ${port} on ${host} is taken by another program; choose another port ${withPort}, ` +
      'or replace a running service with --reuse-port',
    EACCES:
      `port ${port} needs privileges; choose a port above 1023 ${withPort}, or grant ` +
      'CAP_NET_BIND_SERVICE',
    EADDRNOTAVAIL: elsewhere,
    EAFNOSUPPORT: elsewhere,
    EINVAL: `${host} needs its network interface, such as --${prefix}host ${host}%eth0`,
    ENOTFOUND: elsewhere,
    EAI_AGAIN: elsewhere,
  };
  const cause = causes[(error as NodeJS.ErrnoException).code ?? ''];
  return cause === undefined ? error : new CommandError(cause, { cause: error });
}
