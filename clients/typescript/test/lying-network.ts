import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenFor } from '../../../test/helpers/free-port.ts';
import type { Owner } from '../../../test/helpers/program.ts';
import { reset } from '../../../test/helpers/reset.ts';

/** What the network does with one request. */
export type Fault = keyof typeof faults;

interface Link {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Sends the request on to the service. @returns its reply */
  forward(): Promise<Response>;
}

const html = (status: number, text: string, headers: Record<string, string> = {}) =>
  new Response(`<!doctype html><title>${text}</title><h1>${text}</h1>`, {
    status,
    headers: { 'Content-Type': 'text/html', ...headers },
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
    const body = await answerHead(link, await link.forward());
    link.response.write(body.subarray(0, body.length / 2), () => cut(link));
  },
  async 'no reply'(link: Link) {
    await link.forward();
  },
  async '503 with Retry-After'(link: Link) {
    await answer(link, html(503, 'Service Unavailable', { 'Retry-After': '0' }));
  },
  async '503 without Retry-After, after the commit'(link: Link) {
    await link.forward();
    await answer(link, html(503, 'Service Unavailable'));
  },
  async '502 with HTML, after the commit'(link: Link) {
    await link.forward();
    await answer(link, html(502, 'Bad Gateway'));
  },
  async '429 of a proxy'(link: Link) {
    const past = new Date(0).toUTCString();
    await answer(link, html(429, 'Too Many Requests', { 'Retry-After': past }));
  },
  async '200 of something else'(link: Link) {
    await answer(link, html(200, 'Welcome to the hotel'));
  },
} satisfies Record<string, (link: Link) => Promise<void>>;

export const faultNames = Object.keys(faults) as Fault[];

/** @returns the body, which is still to be sent */
async function answerHead({ response }: Link, reply: Response): Promise<Buffer> {
  const body = Buffer.from(await reply.arrayBuffer());
  response.setHeaders(reply.headers);
  response.writeHead(reply.status, { 'Content-Length': body.length });
  return body;
}

async function answer(link: Link, reply: Response): Promise<void> {
  link.response.end(await answerHead(link, reply));
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
  page = (_path: string) => html(404, 'Not Found'),
): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request;
    const body = (await buffer(request)) as Buffer<ArrayBuffer>;
    const { authorization = '', 'content-type': type = '' } = headers;
    const fields = { Authorization: authorization, 'Content-Type': type };
    const forward = () =>
      fetch(`http://127.0.0.1:${port}${url}`, { method: 'POST', headers: fields, body });
    const link = { request, response, forward };
    const fault = method === 'POST' ? choose() : undefined;
    try {
      if (fault !== undefined) await faults[fault](link);
      else await answer(link, method === 'POST' ? await forward() : page(url));
    } catch {
      // The service is away.
      await answer(link, html(502, 'Bad Gateway'));
    }
  });
  // A request that the client gives up.
  server.on('clientError', (_, socket) => socket.destroy());
  return `http://127.0.0.1:${await listenFor(owner, server)}/`;
}
