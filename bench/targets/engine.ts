/** `noop.ts` on the service's own HTTP: parses the body, replies with the Plant, stores nothing. */
import { type Exchange, readBody, sendJson } from '../../src/http/exchange.ts';
import { listen } from '../../src/http/listener.ts';
import { limits } from '../../src/limits.ts';
import { sharedCounter } from '../../src/threads/shared-counter.ts';

const listener = await listen({
  ...limits.http,
  connectionsMax: limits.service.connectionsMax,
  host: '127.0.0.1',
  port: 0,
  reusePort: false,
  answerMs: limits.store.commitMs,
  counters: {
    connections: sharedCounter(),
    pipelinedRequests: sharedCounter(),
    bodyBytes: sharedCounter(),
  },
  handle: (exchange) => readBody(exchange, { takeBody: (body) => answer(exchange, body) }),
  events: { refused: () => undefined, failed: (error) => console.error(error) },
  requestIdPrefix: 'bench',
});

function answer(exchange: Exchange, body: Buffer): void {
  const { name, tag } = JSON.parse(body.toString());
  sendJson(exchange, JSON.stringify({ name, tag }));
}

console.log(`${listener.origin}/`);
process.once('SIGTERM', () => listener.close(limits.service.drainMs));
