import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody, errorHeaders, problems, Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';

/** One request and its reply. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Stands in the reply's `X-Request-Id` and in everything that is logged about the request. */
  readonly requestId: string;
  /** The client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  readonly connection: Connection;
}

/** An open connection. Replies are sent in the order of the requests, and one of them may be the last. */
export interface Connection {
  readonly listener: ListenerState;
  /** Requests whose replies have not been sent. */
  unanswered: number;
  /** The one that came last of these, so it is answered last. */
  last: Exchange | undefined;
  /** Its reply says that it is the last, so nothing behind it is looked at (RFC 9112 §9.6). */
  final: Exchange | undefined;
  /** Nothing more is read until replies have been sent. */
  paused: boolean;
  /** The parser has given up. */
  refused: boolean;
  /** What has come of a request line with a method that the parser does not know. */
  line: string | undefined;
}

/** What the connections of a listener have in common. */
export interface ListenerState {
  readonly events: ListenerEvents;
  nextRequestId(): string;
  /** `ending`: the next reply on each connection is its last. `refusing`: a request that begins now is refused. */
  readonly phase: 'open' | 'ending' | 'refusing';
}

export interface ListenerEvents {
  refused(refusal: Refusal, requestId: string): void;
  /** A defect of the service, answered with 50000. */
  failed(error: unknown, requestId: string): void;
}

/** Sends a reply with a JSON body, unless there is one already or the client has gone. */
export function sendJson(exchange: Exchange, status: number, body: string): void {
  const { response } = exchange;
  if (response.headersSent || response.destroyed) return;
  writeHead(exchange, status, body, []);
  response.end(body);
}

/** Sends an error reply, unless there is a reply already or the client has gone. */
export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  const { request, response, requestId, connection } = exchange;
  if (response.headersSent || response.destroyed) return;
  connection.listener.events.refused(refusal, requestId);

  const body = errorBody(refusal);
  const fields = Object.entries(errorHeaders(refusal)).flat();
  // A client that was refused without `100 Continue` may or may not send the body: the connection is of no more use.
  if ((exchange.expectsContinue && !request.complete) || fields.includes('Connection')) connection.final ??= exchange;
  writeHead(exchange, problems[refusal.problem].status, body, fields);
  if (request.complete) response.end(body);
  else endAfterDiscarding(exchange, body, connection.final === exchange);
}

/** Runs a step of a request. If it throws, which is a defect, the client gets 50000. */
export function guarded(exchange: Exchange, step: () => void): void {
  try {
    step();
  } catch (error) {
    sendDefect(exchange, error);
  }
}

export function sendDefect(exchange: Exchange, error: unknown): void {
  exchange.connection.listener.events.failed(error, exchange.requestId);
  const message = `The service has a defect, and whether the plant was stored is not known. Retry with the same id; the request id is ${exchange.requestId}.`;
  sendRefusal(exchange, new Refusal('defect', message));
}

function writeHead(exchange: Exchange, status: number, body: string, fields: string[]): void {
  const { response, requestId, connection } = exchange;
  fields.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)));
  fields.push('X-Request-Id', requestId);
  if (connection.listener.phase !== 'open' && connection.last === exchange) connection.final ??= exchange;
  if (connection.final === exchange && !fields.includes('Connection')) fields.push('Connection', 'close');
  response.writeHead(status, fields);
}

/**
 * Sends the reply at once, then reads what is still coming of the body and throws it away, and only then ends: a client
 * that is still sending when the connection closes would be reset before it has read the reply. Bounded in time and bytes.
 */
function endAfterDiscarding({ request, response }: Exchange, body: string, closes: boolean): void {
  const { socket } = request;
  // A reply to HEAD has no body, and `write` would not even send its head.
  if (request.method === 'HEAD') response.flushHeaders();
  else response.write(body);
  const sent = () => {
    // Half-closing tells the client that the reply was the last; the other half stays open for what it still sends.
    if (closes) socket.end();
    const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
    response.once('close', () => clearTimeout(timer));
  };
  // Its turn may be long after now: the replies to earlier requests on the connection come first.
  if (response.socket) sent();
  else response.once('socket', () => process.nextTick(sent));
  let bytesLeft = limits.lingerBytes;
  request.removeAllListeners('data').removeAllListeners('end');
  request.on('data', (chunk: Buffer) => {
    bytesLeft -= chunk.length;
    // Not before its turn: the replies before it are still to come.
    if (bytesLeft < 0 && response.socket) socket.destroy();
  });
  // Otherwise the client closes the connection, when it has read the reply.
  if (!closes) request.once('end', () => response.end());
}
