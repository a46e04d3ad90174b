import type { ProblemName, problems } from '../contract/problems.ts';
import { limits } from '../limits.ts';

/** Every status that the service sends. */
type Status = 200 | (typeof problems)[ProblemName]['status'];

/** RFC 9110 §15. Those of `node:http` cost a tenth of the time to start. */
const phrases: Readonly<Record<Status, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

export interface Reply {
  readonly status: Status;
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
  const head = `HTTP/1.1 ${status} ${phrases[status]}\r\n${lines}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const rest = `X-Request-Id: ${requestId}\r\nDate: ${date}\r\n${isLast ? close : keepAlive}\r\n`;
  return isToHead ? head + rest : head + rest + body;
}
