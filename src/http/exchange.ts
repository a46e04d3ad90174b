import { randomBytes } from 'node:crypto';
import {
  defectRefusal,
  errorText,
  type ProblemName,
  problems,
  Refusal,
} from '../contract/problems.ts';
import { numberText } from '../quantity-text.ts';
import type { Clock } from './deadlines.ts';
import type { RememberedHeads } from './remembered-heads.ts';
import type { Fields, RequestHead } from './request-head.ts';

/** What the connections of a listener share. Header lines include their line ends. */
export interface ListenerState extends Clock {
  readonly events: ListenerEvents;
  readonly heads: RememberedHeads;
  readonly bodyBytesMax: number;
  readonly requestIdPrefix: string;
  readonly refusalLines: string;
  readonly replyLines: ReplyLines | undefined;
  /** Header lines of every reply but the last of a connection. */
  readonly keepAliveLines: string;
  readonly date: string;
  nextRequestNumber(): number;
  /** `ending`: the next reply of a connection is its last. `refusing`: new requests are refused. */
  readonly phase: 'open' | 'ending' | 'refusing';
}

/**
 * Header lines, with their line ends, of every reply to a request with these fields, also of a
 * reply of the engine. Undefined: a malformed head.
 */
export type ReplyLines = (fields: Fields | undefined) => string;

export interface ListenerEvents {
  refused(refusal: Refusal, exchange: Exchange): void;
  /** A defect of the service, answered with 50000. */
  failed(error: unknown, exchange: Exchange): void;
}

export interface Reply {
  readonly status: number;
  /** Header lines, with their line ends, that not every reply has. */
  readonly lines: string;
  /** Text is sent with the head. Any other body is sent after it, as the client reads. */
  readonly body: string | Buffer;
  readonly closes: boolean;
}

/** Sends the replies of the connection. */
interface ReplyWriter {
  readonly listener: ListenerState;
  /** The IP address at the other end. Asking the socket takes a system call. */
  readonly address: string;
  replied(exchange: Exchange): void;
  continue(exchange: Exchange): void;
}

export interface BodyHandler {
  onBody(body: Buffer): void;
  /** The client has closed its half, or all. May be called twice, and before `onBody`. */
  onClientClosed?(): void;
}

/** Hears what becomes of one request, as soon as the handler knows whose request it is. */
export interface RequestObserver {
  /** Of the client, for the log. */
  readonly name: string;
  refused(problem: ProblemName): void;
}

export class Exchange {
  readonly replies: ReplyWriter;
  readonly isHead: boolean;
  private readonly mayExpectContinue: boolean;
  readonly number: number;
  readonly label: string | undefined;
  /** Header lines of the reply, for what the fields of the request were. */
  readonly lines: string;
  /** Whose request it is, once the handler knows. Bounds are shared among accounts. */
  account: number | undefined;
  observer: RequestObserver | undefined;
  /** Without a handler, the body is discarded. */
  bodyHandler: BodyHandler | undefined;
  /** By its Content-Length. A body in chunks is measured while it arrives. */
  readonly isBodyTooLong: boolean;
  isReceived = false;
  isContinueDue = false;
  /** Set once. May have to wait for the replies of earlier requests. */
  reply: Reply | undefined;
  isOver = false;

  /**
   * @param head undefined if it is malformed. Not kept: a head of many fields takes 100 KiB, and
   * the reply may take a while.
   */
  constructor(replies: ReplyWriter, head: RequestHead | undefined) {
    const { listener } = replies;
    this.replies = replies;
    this.isHead = head?.method === 'HEAD';
    this.mayExpectContinue = head?.expectsContinue === true;
    this.isBodyTooLong = Number(head?.framing) > listener.bodyBytesMax;
    this.number = listener.nextRequestNumber();
    this.label = head?.label;
    this.lines = listener.replyLines?.(head?.fields) ?? '';
  }

  /** The `X-Request-Id` of the reply, and of all that is logged about the request. */
  get requestId(): string {
    return requestIdOf(this.replies.listener.requestIdPrefix, this.number);
  }

  get address(): string {
    return this.replies.address;
  }

  /** Whether the client waits for `100 Continue`, or for a reply in its place. */
  get expectsContinue(): boolean {
    return this.mayExpectContinue && !this.isReceived;
  }
}

/** Of one thread: its start in seconds since the epoch and a random number, as 14 hex digits. */
export function newRequestIdPrefix(startedAtMs: number): string {
  const start = Math.floor(startedAtMs / 1_000)
    .toString(16)
    .padStart(8, '0');
  return `${start}${randomBytes(3).toString('hex')}`;
}

export function requestIdOf(prefix: string, number: number): string {
  return `${prefix}-${number.toString(36)}`;
}

/**
 * Answers, or calls `readBody`, which refuses a body over its bound (41300). The connection is not
 * read until a returned promise resolves.
 */
export type Handle = (exchange: Exchange, head: RequestHead) => void | Promise<void>;

export function readBody(exchange: Exchange, handler: BodyHandler): void {
  if (exchange.isBodyTooLong) return refuseLongBody(exchange);
  exchange.bodyHandler = handler;
  if (exchange.expectsContinue) exchange.replies.continue(exchange);
}

export function refuseLongBody(exchange: Exchange): void {
  const most = numberText(exchange.replies.listener.bodyBytesMax);
  const message = `The body is over the limit of ${most} bytes.`;
  sendRefusal(exchange, new Refusal('bodyTooLarge', message));
}

const json = 'Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n';

/** Sends a 200. Like all functions here, does nothing after the first reply. */
export function sendJson(exchange: Exchange, body: string, lines = ''): void {
  sendReply(exchange, 200, json + lines, body);
}

export function sendReply(
  exchange: Exchange,
  status: number,
  lines: string,
  body: Reply['body'],
  closes = false,
): void {
  if (exchange.reply || exchange.isOver) return;
  // Without `100 Continue`, the client may or may not send the body, so nothing can be read behind
  // the request.
  exchange.reply = { status, lines, body, closes: closes || exchange.expectsContinue };
  exchange.replies.replied(exchange);
}

export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  if (exchange.reply || exchange.isOver) return;
  const { listener } = exchange.replies;
  listener.events.refused(refusal, exchange);
  exchange.observer?.refused(refusal.problem);
  const problem = problems[refusal.problem];
  const { Connection: connection, ...fields } = { ...problem.headers, ...refusal.headers };
  const lines = json + listener.refusalLines + headerLines(fields);
  const body = errorText(problem, refusal.message);
  sendReply(exchange, problem.status, lines, body, connection === 'close');
}

export function headerLines(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

/** Runs a step of a request. If the step throws or rejects, sends 50000. */
export function catchDefect(
  exchange: Exchange,
  step: () => void | Promise<void>,
): void | Promise<void> {
  try {
    return step()?.catch((error) => sendDefect(exchange, error));
  } catch (error) {
    sendDefect(exchange, error);
  }
}

export function sendDefect(exchange: Exchange, error: unknown): void {
  exchange.replies.listener.events.failed(error, exchange);
  sendRefusal(exchange, defectRefusal(exchange.requestId));
}
