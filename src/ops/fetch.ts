import { type Exchange, sendReply, sendStream } from '../http/exchange.ts';
import type { RequestHead } from '../http/request-head.ts';

/** A handler of the Fetch standard. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/**
 * A HEAD is a GET whose reply is sent without its body. Any other method becomes OPTIONS, which no
 * route takes, because `Request` changes the case of some methods and throws for others.
 */
const methods: ReadonlyMap<string, string> = new Map([
  ['GET', 'GET'],
  ['HEAD', 'GET'],
  ['POST', 'POST'],
  ['PUT', 'PUT'],
  ['PATCH', 'PATCH'],
  ['DELETE', 'DELETE'],
]);

/** @param signal aborted when the client closes the connection */
export function requestOf(head: RequestHead, url: URL, body: Buffer, signal: AbortSignal): Request {
  const method = methods.get(head.method) ?? 'OPTIONS';
  const headers = new Headers();
  for (const [name, values] of head.fields) for (const value of values) headers.append(name, value);
  // The Fetch standard allows no GET with a body.
  const sent = method === 'GET' ? {} : { body: new Uint8Array(body) };
  const request = new Request(url, { method, headers, ...sent });
  // A request that is made with a signal stays in memory until the next full collection.
  return Object.defineProperty(request, 'signal', { value: signal });
}

/** Streams the body of a response that says so with `Transfer-Encoding`. */
export async function sendResponse(
  exchange: Exchange,
  { version }: RequestHead,
  response: Response,
): Promise<void> {
  const { status, headers, body } = response;
  const isStreamed = headers.get(streamed) !== null;
  // The engine frames the body.
  headers.delete(streamed);
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  if (isStreamed && body) return sendStream(exchange, version, { status, lines, source: body });
  sendReply(exchange, { status, lines, body: Buffer.from(await response.arrayBuffer()) });
}

const streamed = 'Transfer-Encoding';
