import { type Exchange, sendReply } from '../http/exchange.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Answers a request as servers of the Fetch standard do. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/**
 * The methods that a route can take. A HEAD is a GET whose reply goes out without its body. Of any
 * other, a `Request` might change the case or throw: it becomes OPTIONS, which no route takes.
 */
const methods: ReadonlyMap<string, string> = new Map([
  ['GET', 'GET'],
  ['HEAD', 'GET'],
  ['POST', 'POST'],
  ['PUT', 'PUT'],
  ['PATCH', 'PATCH'],
  ['DELETE', 'DELETE'],
]);

/**
 * @param url what the request is for: its target and Host are not looked at again
 * @param signal aborted when the client has gone
 */
export function requestOf(head: RequestHead, url: URL, body: Buffer, signal: AbortSignal): Request {
  const method = methods.get(head.method) ?? 'OPTIONS';
  const headers = new Headers();
  for (const [name, values] of head.fields) for (const value of values) headers.append(name, value);
  // The Fetch standard has no GET with a body.
  const sent = method === 'GET' ? {} : { body: new Uint8Array(body) };
  return new Request(url, { method, headers, signal, ...sent });
}

export async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  sendReply(exchange, {
    status: response.status,
    lines,
    body: Buffer.from(await response.arrayBuffer()),
  });
}
