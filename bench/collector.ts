/** A collector of traces that keeps nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Prepared } from './tokens.ts';

export async function startCollector(): Promise<Prepared> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    flags: ['--otlp-endpoint', `http://127.0.0.1:${port}`],
    dispose: () => server.close(),
  };
}
