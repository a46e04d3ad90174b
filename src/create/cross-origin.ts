import { excerpt } from '../contract/excerpt.ts';
import { headerFields } from '../contract/openapi-responses.ts';
import { type Exchange, type ReplyLines, sendReply } from '../http/exchange.ts';
import type { Fields, RequestHead } from '../http/request-head.ts';
import { limits } from '../limits.ts';

export type CrossOrigin = ReturnType<typeof crossOrigin>;

/** The CORS protocol (fetch.spec.whatwg.org). Without cookies, credentials are never allowed. */
export function crossOrigin(origins: readonly string[]) {
  const linesOf = new Map(origins.map((origin) => [origin, allowing(origin)]));
  const forAll = linesOf.get('*');
  const forOriginOf = (fields: Fields) => linesOf.get(fields.get('origin')?.join() ?? '');

  const replyLines: ReplyLines = (fields) => forAll ?? (fields && forOriginOf(fields)) ?? vary;
  return { replyLines, allows: (fields: Fields) => replyLines(fields) !== vary };
}

export function isPreflight({ method, fields }: RequestHead): boolean {
  return (
    method === 'OPTIONS' && fields.has('origin') && fields.has('access-control-request-method')
  );
}

/** What the log says of a preflight. The page itself learns nothing. */
export function whyNotAllowed(fields: Fields): string {
  return `the origin ${excerpt(fields.get('origin')?.join() ?? '')} is not in --cors-origins`;
}

/** A cache must not give the reply for one origin to another. */
const vary = 'Vary: Origin\r\n';

function allowing(origin: string): string {
  return (
    `Access-Control-Allow-Origin: ${origin}\r\n${origin === '*' ? '' : vary}` +
    `Access-Control-Expose-Headers: ${Object.keys(headerFields).join(', ')}\r\n`
  );
}

/** What a page may send. `*` stands for fields that are ignored, and never for `Authorization`. */
const requestFields = 'Authorization, Content-Type, traceparent, *';

/** @param methods of the path, with commas between them */
export function answerPreflight(exchange: Exchange, methods: string): void {
  const lines =
    `Access-Control-Allow-Methods: ${methods}\r\n` +
    `Access-Control-Allow-Headers: ${requestFields}\r\n` +
    `Access-Control-Max-Age: ${limits.http.preflightSeconds}\r\n`;
  sendReply(exchange, 204, lines, '');
}
