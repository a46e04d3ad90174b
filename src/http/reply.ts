import { reasonPhrases } from '../contract/problems.ts';

export interface Reply {
  readonly status: number;
  /** Header lines that not every reply has. */
  readonly lines: string;
  /** Text goes out with the head, bytes behind it, as the client takes them. */
  readonly body: string | Buffer;
  /** It is the last on its connection. */
  readonly closes: boolean;
}

/** Header lines of a reply behind which the connection waits so long for the next request. */
export function keepAliveLines(idleMs: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${idleMs / 1_000}\r\n`;
}

export const closeLines = 'Connection: close\r\n';

/**
 * A reply as it goes over the wire (RFC 9112 §4), without a body of bytes. That to a HEAD ends
 * before the body (RFC 9110 §9.3.2).
 *
 * @param connectionLines `closeLines`, or those of `keepAliveLines`
 */
export function replyText(
  reply: Reply,
  requestId: string,
  date: string,
  connectionLines: string,
  isToHead: boolean,
): string {
  const { status, lines, body } = reply;
  const length = hasNoBody(status) ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}${length}`;
  const rest = `X-Request-Id: ${requestId}\r\nDate: ${date}\r\n${connectionLines}\r\n`;
  return isToHead || typeof body !== 'string' ? head + rest : head + rest + body;
}

/** RFC 9110 §8.6: such a reply has no Content-Length, or not that of its own body. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
