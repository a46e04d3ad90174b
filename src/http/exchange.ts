import { errorBody, errorHeaders, problems, Refusal } from '../contract/problems.ts';
import type { Reply } from './reply.ts';
import type { RequestHead } from './request-head.ts';

/** What the connections of a listener have in common. */
export interface ListenerState {
  readonly events: ListenerEvents;
  /** Starts the id of every request. */
  readonly requestIdPrefix: string;
  /** Header lines, with their ends, of every refusal. */
  readonly refusalLines: string;
  nextRequestNumber(): number;
  /**
   * `ending`: the next reply on each connection is its last. `refusing`: a request that begins now
   * is refused.
   */
  readonly phase: 'open' | 'ending' | 'refusing';
}

export interface ListenerEvents {
  refused(refusal: Refusal, requestId: string): void;
  /** A defect of the service, answered with 50000. */
  failed(error: unknown, requestId: string): void;
}

/** The connection, as its exchanges see it. */
interface Owner {
  readonly listener: ListenerState;
  /** Sends the reply when its turn has come. */
  replied(exchange: Exchange): void;
  continue(exchange: Exchange): void;
}

/** Who takes the body of a request, once it is whole. */
export interface BodyTaker {
  takeBody(body: Buffer): void;
  /**
   * The client has closed its half of the connection, or all of it. Called once or twice, and
   * before the body is whole, too.
   */
  noteLeft?(): void;
}

/** One request and its reply. */
export class Exchange {
  readonly owner: Owner;
  /** The reply has no body. */
  readonly isToHead: boolean;
  private readonly mayExpectContinue: boolean;
  private readonly number: number;
  /** Without one, the body is thrown away. */
  taker: BodyTaker | undefined;
  /** All of the body has come. */
  isReceived = false;
  /** `100 Continue` is to be sent. */
  continues = false;
  /** Undefined until there is one; it may then still have to wait for its turn. */
  reply: Reply | undefined;
  /** The connection has gone, or the reply has been sent. */
  isOver = false;

  /**
   * @param head undefined if it could not be read. It is not kept: one of many fields takes 100
   * KiB, and the reply may take a while.
   */
  constructor(owner: Owner, head: RequestHead | undefined) {
    this.owner = owner;
    this.isToHead = head?.method === 'HEAD';
    this.mayExpectContinue = head?.expectsContinue === true;
    this.number = owner.listener.nextRequestNumber();
  }

  /** Stands in the reply's `X-Request-Id` and in everything that is logged about the request. */
  get requestId(): string {
    return `${this.owner.listener.requestIdPrefix}-${this.number.toString(36)}`;
  }

  /** Whether the client waits for `100 Continue`, or for a reply in its place. */
  get expectsContinue(): boolean {
    return this.mayExpectContinue && !this.isReceived;
  }
}

/**
 * Sees to a request, at once or once its body has come. Until a promise resolves, nothing more is
 * read from the connection.
 */
export type Handle = (exchange: Exchange, head: RequestHead) => void | Promise<void>;

/** Lets the body be handed over. */
export function readBody(exchange: Exchange, taker: BodyTaker): void {
  exchange.taker = taker;
  if (exchange.expectsContinue) exchange.owner.continue(exchange);
}

const json = 'Content-Type: application/json\r\n';

/** Sends a 200 with a JSON body, unless there is a reply already or the client has gone. */
export function sendJson(exchange: Exchange, body: string): void {
  reply(exchange, { status: 200, lines: json, body, closes: false });
}

/**
 * The same of what `lines` say, which are header lines with their ends. Bytes may be many: they are
 * neither copied nor sent before the client takes them.
 */
export function sendContent(exchange: Exchange, lines: string, body: string | Buffer): void {
  reply(exchange, { status: 200, lines, body, closes: false });
}

/**
 * Sends a reply of any status, unless there is one already or the client has gone. Its lines are as
 * in `sendContent`.
 */
export function sendReply(
  exchange: Exchange,
  { status, lines, body }: Omit<Reply, 'closes'>,
): void {
  reply(exchange, { status, lines, body, closes: exchange.expectsContinue });
}

/** Sends an error reply, unless there is a reply already or the client has gone. */
export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  if (exchange.reply || exchange.isOver) return;
  exchange.owner.listener.events.refused(refusal, exchange.requestId);
  const { Connection: connection, ...fields } = errorHeaders(refusal);
  const lines = json + exchange.owner.listener.refusalLines + headerLines(fields);
  // A client that was refused without `100 Continue` may or may not send the body: the connection
  // is of no more use.
  const closes = connection === 'close' || exchange.expectsContinue;
  reply(exchange, {
    status: problems[refusal.problem].status,
    lines,
    body: errorBody(refusal),
    closes,
  });
}

/** The fields as lines, with their ends. */
export function headerLines(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

function reply(exchange: Exchange, reply: Reply): void {
  if (exchange.reply || exchange.isOver) return;
  exchange.reply = reply;
  exchange.owner.replied(exchange);
}

/** Runs a step of a request. If it throws or rejects, which is a defect, the client gets 50000. */
export function guarded(
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
  exchange.owner.listener.events.failed(error, exchange.requestId);
  const message = `The service has a defect, and whether the plant was stored is not known. Retry with the same id; the request id is ${exchange.requestId}.`;
  sendRefusal(exchange, new Refusal('defect', message));
}
