import { reasonPhrases } from '../contract/problems.ts';
import { limits } from '../limits.ts';

export interface Reply {
  readonly status: number;
  /** Header lines that only this reply has. */
  readonly lines: string;
  readonly body: string;
  /** It is the last on its connection. */
  readonly closes: boolean;
}

const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${limits.idleMs / 1_000}\r\n`;
const close = 'Connection: close\r\n';

/** A reply as it goes over the wire (RFC 9112 §4). That to a HEAD ends before the body (RFC 9110 §9.3.2). */
export function replyText(reply: Reply, requestId: string, date: string, isLast: boolean, isToHead: boolean): string {
  const { status, lines, body } = reply;
  const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const rest = `X-Request-Id: ${requestId}\r\nDate: ${date}\r\n${isLast ? close : keepAlive}\r\n`;
  return isToHead ? head + rest : head + rest + body;
}
