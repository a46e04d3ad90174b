import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Client } from 'pg';

/** Stands for a version of the protocol (protocol-message-formats.html, CancelRequest). */
const cancelRequestCode = 80_877_102;

/** What the server has told the client alone. The types of pg leave it out. */
interface SessionKey {
  readonly processID: number;
  readonly secretKey: number;
}

/**
 * Asks the server to stop what a session is doing, over a stream of its own. It does not say
 * whether it has. Where it cannot be asked, the work ends by its own time-out or with the server.
 */
export async function cancelWork(client: Client, openStream: () => Promise<Socket>): Promise<void> {
  const { processID, secretKey } = client as Client & SessionKey;
  const request = Buffer.alloc(16);
  [request.length, cancelRequestCode, processID, secretKey].forEach((value, index) => {
    request.writeInt32BE(value, 4 * index);
  });
  const stream = await openStream();
  stream.end(request);
  await once(stream.resume(), 'close');
}
