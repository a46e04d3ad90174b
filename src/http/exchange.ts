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
  readonly listener: ListenerState;
}

/** What an exchange needs of the listener that it belongs to. */
export interface ListenerState {
  /** Whether the connection closes after this reply, whatever the reply is: so when the service is shutting down and nothing else awaits a reply there. */
  closesAfter(exchange: Exchange): boolean;
  /** Nothing that comes behind this request on the connection is looked at any more (RFC 9112 §9.6). */
  closeAfter(exchange: Exchange): void;
  readonly events: ListenerEvents;
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
  const { request, response, requestId, listener } = exchange;
  if (response.headersSent || response.destroyed) return;
  listener.events.refused(refusal, requestId);

  const body = errorBody(refusal);
  const fields = Object.entries(errorHeaders(refusal)).flat();
  // A client that was refused without `100 Continue` may or may not send the body: the connection is of no more use.
  if ((exchange.expectsContinue && !request.complete) || fields.includes('Connection')) listener.closeAfter(exchange);
  writeHead(exchange, problems[refusal.problem].status, body, fields);
  if (request.complete) response.end(body);
  else endAfterDiscarding(exchange, body, listener.closesAfter(exchange));
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
  exchange.listener.events.failed(error, exchange.requestId);
  const message = `The service has a defect, and whether the plant was stored is not known. Retry with the same id; the request id is ${exchange.requestId}.`;
  sendRefusal(exchange, new Refusal('defect', message));
}

function writeHead(exchange: Exchange, status: number, body: string, fields: string[]): void {
  const { response, requestId, listener } = exchange;
  fields.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)));
  fields.push('X-Request-Id', requestId);
  if (listener.closesAfter(exchange)) {
    listener.closeAfter(exchange);
    if (!fields.includes('Connection')) fields.push('Connection', 'close');
  }
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
    const timer = setTimeout(() => socket.destroySoon(), limits.lingerMs);
    response.once('close', () => clearTimeout(timer));
  };
  // Its turn may be long after now: the replies to earlier requests on the connection come first.
  if (response.socket) sent();
  else response.once('socket', () => process.nextTick(sent));
  let bytesLeft = limits.lingerBytes;
  request.removeAllListeners('data').removeAllListeners('end');
  request.on('data', (chunk: Buffer) => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) socket.destroySoon();
  });
  // Otherwise the client closes the connection, when it has read the reply.
  if (!closes) request.once('end', () => response.end());
}
