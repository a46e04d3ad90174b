import type { Owner } from '../helpers/program.ts';
import { connectRaw, type RawReply } from '../helpers/raw.ts';

/**
 * Sends the requests of each lane one after the other over a connection that is kept alive, all
 * lanes at the same time. Where the server says that it closes the connection, the lane waits until
 * it has, and goes on with a new one.
 */
export async function sendInLanes<T>(
  owner: Owner,
  port: number,
  lanes: readonly (readonly T[])[],
  bytesOf: (one: T) => Uint8Array,
  got: (one: T, reply: RawReply) => void,
): Promise<void> {
  async function run(lane: readonly T[]): Promise<void> {
    let connection = await connectRaw(owner, port);
    for (const one of lane) {
      connection.send(bytesOf(one));
      const reply = await connection.reply();
      got(one, reply);
      if (reply.headers.get('connection') !== 'close') continue;
      await connection.closed();
      connection.socket.destroy();
      connection = await connectRaw(owner, port);
    }
    connection.socket.destroy();
  }
  await Promise.all(lanes.map(run));
}
