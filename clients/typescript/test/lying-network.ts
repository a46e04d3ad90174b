import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Owner } from '../../../test/helpers/program.ts';
import { reset } from '../../../test/helpers/reset.ts';

/** What the network does with one request. */
export type Fault = keyof typeof faults;

interface Link {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Sends the request on to the service. @returns its reply */
  forward(): Promise<Reply>;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

const html = (status: number, text: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'Content-Type': 'text/html', ...headers },
  body: Buffer.from(`<!doctype html><title>${text}</title><h1>${text}</h1>`),
});

const cut = ({ request }: Link) => reset(request.socket);

const faults = {
  async 'reset before the commit'(link: Link) {
    cut(link);
  },
  async 'reset after the commit'(link: Link) {
    await link.forward();
    cut(link);
  },
  async 'half of the head'(link: Link) {
    await link.forward();
    link.response.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: appl');
  },
  async 'half of the body'(link: Link) {
    const { status, headers, body } = await link.forward();
    link.response.writeHead(status, { ...headers, 'Content-Length': body.length });
    link.response.write(body.subarray(0, body.length / 2), () => cut(link));
  },
  async 'no reply'(link: Link) {
    await link.forward();
  },
  async '503 with Retry-After'(link: Link) {
    answer(link, html(503, 'Service Unavailable', { 'Retry-After': '0' }));
  },
  async '503 without Retry-After, after the commit'(link: Link) {
    await link.forward();
    answer(link, html(503, 'Service Unavailable'));
  },
  async '502 with HTML, after the commit'(link: Link) {
    await link.forward();
    answer(link, html(502, 'Bad Gateway'));
  },
  async '429 of a proxy'(link: Link) {
    answer(link, html(429, 'Too Many Requests', { 'Retry-After': new Date(0).toUTCString() }));
  },
  async '200 of something else'(link: Link) {
    answer(link, html(200, 'Welcome to the hotel'));
  },
} satisfies Record<string, (link: Link) => Promise<void>>;

export const faultNames = Object.keys(faults) as Fault[];

function answer({ response }: Link, { status, headers, body }: Reply): void {
  response.writeHead(status, { ...headers, 'Content-Length': body.length }).end(body);
}

/**
 * Starts an HTTP proxy in front of a service on this machine. It answers 502 while the service is
 * away. It is closed when the owner ends.
 *
 * @param choose the fault of the next `POST /plants`; undefined for none
 * @param page served at every other path, for browsers
 * @returns its address
 */
export async function startLyingNetwork(
  owner: Owner,
  port: number,
  choose: () => Fault | undefined,
  page: (path: string) => { readonly type: string; readonly text: string } = notFound,
): Promise<string> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      const { type, text } = page(request.url ?? '');
      response.writeHead(200, { 'Content-Type': type }).end(text);
      return;
    }
    const body = await buffer(request);
    const forward = () => sendOn(agent, port, request, body);
    const link = { request, response, forward };
    const fault = choose();
    try {
      if (fault === undefined) answer(link, await forward());
      else await faults[fault](link);
    } catch {
      // The service is away.
      answer(link, html(502, 'Bad Gateway'));
    }
  });
  // A request that the client gives up.
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.after(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}/`;
}

function notFound(): never {
  throw new Error('only POST is expected');
}

async function sendOn(
  agent: Agent,
  port: number,
  { url, method, headers }: IncomingMessage,
  body: Buffer,
): Promise<Reply> {
  const request = openRequest({ host: '127.0.0.1', port, agent, path: url, method, headers });
  request.end(body);
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  const fields = { ...reply.headers } as Record<string, string>;
  delete fields['content-length'];
  delete fields['connection'];
  return { status: reply.statusCode ?? 0, headers: fields, body: await buffer(reply) };
}
