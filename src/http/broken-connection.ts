import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, errorHeaders, problems, type Refusal } from '../contract/problems.ts';
import { linger } from './connection.ts';
import { type Connection, sendRefusal } from './exchange.ts';
import { lineOfUnknownMethod, methodRefusal, noRequestLine, type ParserError } from './parser-errors.ts';

/** Answers where the parser has given up, in its turn after the replies that are still to come, and closes the connection. */
export function refuseConnection(socket: Duplex, connection: Connection, refusal: Refusal): void {
  if (connection.refused) return;
  connection.refused = true;
  const { last, final, listener } = connection;
  const refuseDirectly = () => {
    if (!socket.writable) return;
    const requestId = listener.nextRequestId();
    listener.events.refused(refusal, requestId);
    socket.write(rawReply(refusal, requestId));
    linger(socket);
  };
  if (final?.request.complete) return;
  if (last === undefined || last.response.writableFinished) return refuseDirectly();
  if (last.request.complete) return void last.response.once('close', refuseDirectly);
  // The body of the last request is broken: this is the reply to it, if it has none yet.
  if (!last.response.headersSent) return sendRefusal(last, refusal);
  if (final === undefined) last.response.once('close', () => linger(socket)).end();
}

/** The same for a method that the parser does not know, once the whole request line is there: the packets must not matter. */
export function refuseMethod(socket: Duplex, connection: Connection, error: ParserError): void {
  if (connection.refused) return;
  if (connection.line === undefined) {
    socket.prependOnceListener('end', () => refuseConnection(socket, connection, noRequestLine));
  }
  connection.line = lineOfUnknownMethod(error, connection.line);
  const refusal = methodRefusal(connection.line);
  if (refusal !== 'unfinished') refuseConnection(socket, connection, refusal);
}

function rawReply(refusal: Refusal, requestId: string): string {
  const { status } = problems[refusal.problem];
  const body = errorBody(refusal);
  const fields = {
    ...errorHeaders(refusal),
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
