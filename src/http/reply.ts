import { reasonPhrases } from '../contract/problems.ts';
import { limits } from '../limits.ts';

export interface Reply {
  readonly status: number;
  /** Header lines that not every reply has. */
  readonly lines: string;
  /** Text goes out with the head, bytes behind it, as the client takes them. */
  readonly body: string | Buffer;
  /** It is the last on its connection. */
  readonly closes: boolean;
}

const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${limits.idleMs / 1_000}\r\n`;
const close = 'Connection: close\r\n';

/** A reply as it goes over the wire (RFC 9112 §4), without a body of bytes. That to a HEAD ends before the body (RFC 9110 §9.3.2). */
export function replyText(reply: Reply, requestId: string, date: string, isLast: boolean, isToHead: boolean): string {
  const { status, lines, body } = reply;
  const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const rest = `X-Request-Id: ${requestId}\r\nDate: ${date}\r\n${isLast ? close : keepAlive}\r\n`;
  return isToHead || typeof body !== 'string' ? head + rest : head + rest + body;
}
