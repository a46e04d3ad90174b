import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { pause } from '../helpers/pause.ts';
import { parseReply } from '../helpers/raw.ts';
import type { JournalEntry, Outcome } from './check-journal.ts';
import type { Request, Workload } from './workload.ts';

/** Everything that clients have sent and were told, in this order. */
export type Journal = JournalEntry[];

export interface Client {
  readonly port: number;
  readonly journal: Journal;
  readonly workload: Workload;
  /** Between a reply and the next request, for who wants no more than some load. */
  readonly pauseMs?: number;
  next(): Request | undefined;
  /** @param status undefined if the connection was lost before a reply */
  settled?(status: number | undefined): void;
}

/** Without it, a request that is refused at once would be repeated 10,000 times a second. */
const pauseAfter503Ms = 100;

/** Sends requests over connections of different depths. Each is reopened until `isOver`. */
export async function runConnections(
  client: Client,
  connections: number,
  isOver: () => boolean,
): Promise<void> {
  const each = async (_: unknown, index: number) => {
    for (;;) {
      const wasAnswered = await runConnection(client, 1 + (index % 4));
      if (isOver()) return;
      // A server that is just ending would otherwise be asked again ten thousand times a second.
      if (!wasAnswered) await pause();
    }
  };
  await Promise.all(Array.from({ length: connections }, each));
}

interface Waiting {
  readonly n: number;
  readonly request: Request;
}

/**
 * Sends requests over one connection, `depth` at a time, until there are no more, or it is lost, or
 * a client goes away on purpose.
 *
 * @returns whether there was a reply
 */
function runConnection(
  { port, journal, workload, pauseMs = 0, next, settled }: Client,
  depth: number,
): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const waiting: Waiting[] = [];
  let received: Buffer = Buffer.alloc(0);
  let leaving = false;

  function fill(): void {
    while (!socket.destroyed && waiting.length < depth && !leaving) {
      const request = next();
      if (request === undefined) {
        if (waiting.length === 0) socket.destroy();
        return;
      }
      const { plant, storable, bytes, leavesAfter } = request;
      // A number that no other request has.
      const n = journal.length + 1;
      journal.push({ n, atMs: performance.now(), sent: plant, storable });
      waiting.push({ n, request });
      leaving = leavesAfter !== undefined;
      socket.write(bytes.subarray(0, leavesAfter), () => leaving && socket.destroy());
    }
  }

  function note({ n, request }: Waiting, outcome: Outcome): void {
    journal.push({ n, atMs: performance.now(), ...outcome });
    const status = 'status' in outcome ? outcome.status : undefined;
    workload.settled(request, status);
    settled?.(status);
  }

  socket.on('connect', fill);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    let waitMs = pauseMs;
    for (let next = parseReply(received); next !== undefined; next = parseReply(received)) {
      const [reply, length] = next;
      received = received.subarray(length);
      const answered = waiting.shift();
      assert(answered, `a reply to no request: ${reply.body}`);
      const { status, body, headers } = reply;
      note(answered, { status, body, requestId: headers.get('x-request-id') });
      if (status === 503) waitMs = pauseAfter503Ms;
    }
    if (waitMs > 0) setTimeout(fill, waitMs);
    else fill();
  });
  // What it means for the requests under way is said by 'close', which follows.
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.on('close', () => {
      for (const one of waiting) note(one, { lost: true });
      resolve(socket.bytesRead > 0);
    });
  });
}
