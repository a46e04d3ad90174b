import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { limits } from '../../limits.ts';
import { isSocketFolder, type PostgresHost, socketPath } from '../location.ts';
import { NoTlsError } from './tls.ts';

/**
 * @param tls undefined for no encryption
 * @param signal destroys the stream, also later
 */
export async function openStream(
  to: PostgresHost,
  tls: ConnectionOptions | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({
    ...addressOf(to),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: limits.postgres.keepAliveMs,
  });
  signal.addEventListener('abort', () => socket.destroy());
  // The awaiting code gets the error. Without a listener, it would end the process.
  socket.on('error', () => {});
  try {
    await once(socket, 'connect', { signal });
    return tls === undefined ? socket : await encrypt(socket, to.host, tls, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function addressOf(to: PostgresHost): PostgresHost | { path: string } {
  return isSocketFolder(to.host) ? { path: socketPath(to) } : to;
}

/** SSLRequest: 8 bytes with the code 80877103 (protocol-message-formats.html). */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Asks for TLS. The server answers S or N. */
async function encrypt(
  socket: Socket,
  host: string,
  tls: ConnectionOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  socket.write(sslRequest);
  await once(socket, 'readable', { signal });
  const answer: Buffer | null = socket.read();
  if (answer?.toString('latin1') === 'N')
    throw new NoTlsError('it does not speak TLS, which sslmode asks for');
  // The answer is one byte. Further bytes come from an attacker (CVE-2021-23222).
  if (answer?.toString('latin1') !== 'S')
    throw new Error('it ended the connection, or sent an unknown reply, when it was asked for TLS');
  const stream = connectTls({
    ...tls,
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }),
  });
  stream.on('error', () => {});
  await once(stream, 'secureConnect', { signal });
  return stream;
}
