import { reasonPhrases } from '../contract/problems.ts';

export interface Reply {
  readonly status: number;
  /** Header lines, with their line ends, that not every reply has. */
  readonly lines: string;
  /** Text is sent with the head. A buffer is sent after it, as the client reads. */
  readonly body: string | Buffer;
  /** The reply is the last of its connection. */
  readonly closes: boolean;
}

/** @param idleMs time that the connection waits for the next request */
export function keepAliveLines(idleMs: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${idleMs / 1_000}\r\n`;
}

export const closeLines = 'Connection: close\r\n';

/**
 * A reply on the wire (RFC 9112 §4), without a body that is a buffer. The reply to a HEAD ends
 * before the body (RFC 9110 §9.3.2).
 *
 * @param connectionLines `closeLines` or `keepAliveLines`
 */
export function replyText(
  reply: Reply,
  requestId: string,
  date: string,
  connectionLines: string,
  isHead: boolean,
): string {
  const { status, lines, body } = reply;
  const length = hasNoBody(status) ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}${length}`;
  const rest = `X-Request-Id: ${requestId}\r\nDate: ${date}\r\n${connectionLines}\r\n`;
  return isHead || typeof body !== 'string' ? head + rest : head + rest + body;
}

/** RFC 9110 §8.6: such a reply has no Content-Length of its own body. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}
