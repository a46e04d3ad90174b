import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Client } from 'pg';

/** CancelRequest (protocol-message-formats.html). */
const cancelRequestCode = 80_877_102;

/** The key of the session, which the types of pg leave out. */
interface SessionKey {
  readonly processID: number;
  readonly secretKey: number;
}

/**
 * Asks the server, over a second stream, to cancel the query of a session. The server does not tell
 * the result. Without a cancel, the query ends by its own timeout or with the server.
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
