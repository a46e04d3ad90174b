import { randomBytes } from 'node:crypto';
import { defectRefusal, errorText, problems, type Refusal } from '../contract/problems.ts';
import type { Clock } from './deadlines.ts';
import type { RememberedHeads } from './remembered-heads.ts';
import type { Fields, RequestHead } from './request-head.ts';

/** What the connections of a listener share. Header lines include their line ends. */
export interface ListenerState extends Clock {
  readonly events: ListenerEvents;
  readonly heads: RememberedHeads;
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

interface Owner {
  readonly listener: ListenerState;
  /** The IP address at the other end. Asking the socket takes a system call. */
  readonly address: string;
  replied(exchange: Exchange): void;
  continue(exchange: Exchange): void;
}

export interface BodyTaker {
  takeBody(body: Buffer): void;
  /** The client has closed its half, or all. May be called twice, and before `takeBody`. */
  noteClientClosed?(): void;
}

export class Exchange {
  readonly owner: Owner;
  readonly isHead: boolean;
  private readonly mayExpectContinue: boolean;
  readonly number: number;
  readonly label: string | undefined;
  /** Header lines of the reply, for what the fields of the request were. */
  readonly lines: string;
  /** Whose request it is, once the handler knows. Bounds are shared among accounts. */
  account: number | undefined;
  /** What the handler knows of the request, for the listener's events. */
  context: unknown;
  /** Without a taker, the body is discarded. */
  taker: BodyTaker | undefined;
  isReceived = false;
  isContinueDue = false;
  /** Set once. May have to wait for the replies of earlier requests. */
  reply: Reply | undefined;
  isOver = false;

  /**
   * @param head undefined if it is malformed. Not kept: a head of many fields takes 100 KiB, and
   * the reply may take a while.
   */
  constructor(owner: Owner, head: RequestHead | undefined) {
    this.owner = owner;
    this.isHead = head?.method === 'HEAD';
    this.mayExpectContinue = head?.expectsContinue === true;
    this.number = owner.listener.nextRequestNumber();
    this.label = head?.label;
    this.lines = owner.listener.replyLines?.(head?.fields) ?? '';
  }

  /** The `X-Request-Id` of the reply, and of all that is logged about the request. */
  get requestId(): string {
    return requestIdOf(this.owner.listener.requestIdPrefix, this.number);
  }

  get client(): string {
    return this.owner.address;
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

/** Answers, or calls `readBody`. The connection is not read until a returned promise resolves. */
export type Handle = (exchange: Exchange, head: RequestHead) => void | Promise<void>;

export function readBody(exchange: Exchange, taker: BodyTaker): void {
  exchange.taker = taker;
  if (exchange.expectsContinue) exchange.owner.continue(exchange);
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
  exchange.owner.replied(exchange);
}

export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  if (exchange.reply || exchange.isOver) return;
  const { listener } = exchange.owner;
  listener.events.refused(refusal, exchange);
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
  exchange.owner.listener.events.failed(error, exchange);
  sendRefusal(exchange, defectRefusal(exchange.requestId));
}
