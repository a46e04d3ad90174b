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

const past = new Date(0).toUTCString();

/** Sent in place of any reply of the service. @param fields of the reply */
const answerHtml =
  (status: number, text: string, fields?: Record<string, string>) => (link: Link) =>
    answer(link, html(status, text, fields));

/** What follows the commit in place of the reply. */
const afterCommit = (then: (link: Link) => unknown) => async (link: Link) => {
  await link.forward();
  await then(link);
};

const faults = {
  'reset before the commit': cut,
  'reset after the commit': afterCommit(cut),
  'half of the head': afterCommit(({ response }) =>
    response.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: appl'),
  ),
  async 'half of the body'(link) {
    const body = await answerHead(link, await link.forward());
    link.response.write(body.subarray(0, body.length / 2), () => cut(link));
  },
  'no reply': afterCommit(() => undefined),
  '503 with Retry-After': answerHtml(503, 'Service Unavailable', { 'Retry-After': '0' }),
  '503 without Retry-After, after the commit': afterCommit(answerHtml(503, 'Service Unavailable')),
  '502 with HTML, after the commit': afterCommit(answerHtml(502, 'Bad Gateway')),
  '429 of a proxy': answerHtml(429, 'Too Many Requests', { 'Retry-After': past }),
  '200 of something else': answerHtml(200, 'Welcome to the hotel'),
} satisfies Record<string, (link: Link) => unknown>;

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
