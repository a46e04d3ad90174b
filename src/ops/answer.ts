import { type Exchange, headerLines, sendReply } from '../http/exchange.ts';
import type { RequestHead } from '../http/request-head.ts';

/** A request for the console or its API, with the whole body. */
export interface OperatorRequest {
  /** A HEAD is a GET whose reply is sent without its body. */
  readonly method: string;
  readonly url: URL;
  /** The first value of each name. */
  readonly query: Readonly<Record<string, string>>;
  readonly fields: RequestHead['fields'];
  readonly body: Buffer;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
}

/**
 * Not the `Response` of the Fetch standard: the first `Response` of a process loads 11 MB of code,
 * and the garbage of each is several times that of its text.
 */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export type Handler<Request extends OperatorRequest = OperatorRequest> = (
  request: Request,
) => Answer | Promise<Answer>;

/** @param name in lower case @returns all values of a field as one (RFC 9110 §5.3) */
export function fieldOf({ fields }: OperatorRequest, name: string): string | undefined {
  return fields.get(name)?.join(', ');
}

/** Header fields of each refusal that the HTTP engine sends itself. The engine adds `nosniff`. */
export const refusalHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Of every answer that has no others. */
const commonHeaders = { ...refusalHeaders, 'X-Content-Type-Options': 'nosniff' };

export function sendAnswer(exchange: Exchange, { status, headers, body }: Answer): void {
  sendReply(exchange, status, headerLines({ ...commonHeaders, ...headers }), body);
}
