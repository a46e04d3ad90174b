import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { Connection } from '../../src/http/connection.ts';
import { type Handle, sendJson } from '../../src/http/exchange.ts';
import { RememberedHeads } from '../../src/http/remembered-heads.ts';
import { limits } from '../../src/limits.ts';
import { sharedCounter } from '../../src/threads/shared-counter.ts';
import { connectRaw, type RawConnection } from './raw.ts';

export const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
export const headersMs = 10_000;
export const requestMs = 30_000;
export const stuckMs = 37_000;

/** A connection of the server with a clock of its own, and the client that has opened it. */
export interface Pair {
  readonly client: RawConnection;
  /** Sends the bytes, and resolves when the server has seen to them. */
  sendAndWait(bytes: string): Promise<void>;
  /** Lets time pass for the server, which does not look at it. */
  pass(ms: number): void;
  /** Lets time pass for the server, and has it look at its deadlines. */
  wait(ms: number): void;
}

export async function openPair(
  t: TestContext,
  handle: Handle = (exchange) => sendJson(exchange, '{}'),
  failed: (error: unknown) => void = (error) => assert.fail(String(error)),
): Promise<Pair> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = await connectRaw(t, (server.address() as AddressInfo).port);
  const [socket] = (await accepted) as [Socket];
  t.after(() => socket.destroy());

  let requests = 0;
  let clockMs = 0;
  const listener = {
    heads: new RememberedHeads(),
    events: { refused() {}, failed },
    requestIdPrefix: 'test',
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as const,
    nowMs: 0,
    now: () => clockMs,
    date: new Date(0).toUTCString(),
    refusalLines: '',
    keepAliveLines: '',
  };
  const connection = new Connection(socket, {
    listener,
    counters: {
      connections: sharedCounter(),
      pipelinedRequests: sharedCounter(),
      bodyBytes: sharedCounter(),
    },
    silent: new Set(),
    bodyBytesMax: limits.http.bodyBytesMax,
    handle,
    headersMs,
    requestMs,
    idleMs: limits.http.idleMs,
    stuckMs,
  });
  let seen = Promise.withResolvers<void>();
  socket.on('data', () => seen.resolve()).on('close', () => seen.resolve());
  return {
    client,
    async sendAndWait(bytes) {
      if (socket.destroyed) return;
      seen = Promise.withResolvers();
      client.send(bytes);
      await seen.promise;
    },
    pass(ms) {
      clockMs += ms;
    },
    wait(ms) {
      clockMs += ms;
      listener.nowMs = clockMs;
      connection.expire(clockMs);
    },
  };
}
