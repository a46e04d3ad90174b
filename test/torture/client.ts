import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { pause } from '../helpers/pause.ts';
import { parseReply, type RawReply } from '../helpers/raw.ts';
import type { JournalEntry } from './check-journal.ts';
import type { Request, Workload } from './workload.ts';

export interface Client {
  readonly port: number;
  readonly journal: Journal;
  readonly workload: Workload;
  /** Between a reply and the next request, for who wants no more than some load. */
  readonly pauseMs?: number;
  next(): Request | undefined;
  happened(happening: 'request sent' | 'plant acknowledged'): void;
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

/**
 * Sends requests over one connection, `depth` at a time, until there are no more, or it is lost, or
 * a client goes away on purpose.
 *
 * @returns whether there was a reply
 */
function runConnection(
  { port, journal, workload, pauseMs = 0, next, happened }: Client,
  depth: number,
): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const waiting: { readonly n: number; readonly request: Request }[] = [];
  let received: Buffer = Buffer.alloc(0);
  let leaving = false;

  function fill(): void {
    while (!socket.destroyed && waiting.length < depth && !leaving) {
      const request = next();
      if (request === undefined) {
        if (waiting.length === 0) socket.destroy();
        return;
      }
      waiting.push({ n: journal.sent(request), request });
      leaving = request.bytesSent < request.bytes.length || request.leaves;
      socket.write(request.bytes.subarray(0, request.bytesSent), () => leaving && socket.destroy());
      happened('request sent');
    }
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
      journal.answered(answered.n, reply);
      workload.settled(answered.request, reply.status);
      if (reply.status === 200) happened('plant acknowledged');
      if (reply.status === 503) waitMs = pauseAfter503Ms;
    }
    if (waitMs > 0) setTimeout(fill, waitMs);
    else fill();
  });
  // What it means for the requests under way is said by 'close', which follows.
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.on('close', () => {
      for (const { n, request } of waiting) {
        journal.lost(n);
        workload.settled(request, undefined);
      }
      resolve(socket.bytesRead > 0);
    });
  });
}

type Untimed<T> = T extends unknown ? Omit<T, 'atMs'> : never;

export interface Journal extends Disposable {
  /** @returns the number of the request */
  sent(request: Request): number;
  answered(n: number, reply: RawReply): void;
  lost(n: number): void;
}

/**
 * Every line is with the operating system before the call returns, so that it survives the end of
 * this process.
 */
export function openJournal(path: string): Journal {
  const file = openSync(path, 'ax');
  let count = 0;
  const write = (entry: Untimed<JournalEntry>) => {
    const line = Buffer.from(`${JSON.stringify({ ...entry, atMs: performance.now() })}\n`);
    assert.equal(writeSync(file, line), line.length);
  };
  return {
    sent({ plant, storable }) {
      count += 1;
      write({ n: count, sent: plant, storable });
      return count;
    },
    answered: (n, { status, body, headers }) =>
      write({ n, status, body, requestId: headers.get('x-request-id') }),
    lost: (n) => write({ n, lost: true }),
    [Symbol.dispose]: () => closeSync(file),
  };
}
