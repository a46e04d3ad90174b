import type { Socket } from 'node:net';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { ArrivingBody } from './arriving-body.ts';
import { type Crowd, type Member, networkOf } from './crowd.ts';
import { Deadlines } from './deadlines.ts';
import { catchDefect, Exchange, type Handle, type ListenerState, sendRefusal } from './exchange.ts';
import { Replies } from './replies.ts';
import type { RequestHead } from './request-head.ts';
import { endedEarly, RequestReader } from './request-reader.ts';

export interface ConnectionOptions {
  readonly listener: ListenerState;
  readonly crowd: Crowd<Connection>;
  /** Of all threads: requests that wait unanswered behind another one of their connection. */
  readonly counters: { readonly pipelinedRequests: SharedCounter };
  readonly handle: Handle;
  readonly idleMs: number;
  /** A client that has taken nothing of its replies for this time is cut off. */
  readonly stuckMs: number;
}

/**
 * One connection (RFC 9112 §9). A request goes through `readHead`, `begin`, the handler, and
 * `beginBody` or `readBody`. Its `Exchange` gives the reply to the `Replies`, which then calls
 * `noteReady`; the reply goes out with `send`.
 */
export class Connection implements Member {
  readonly network: string;
  account: number | undefined;
  private readonly options: ConnectionOptions;
  private readonly socket: Socket;
  /** The TCP connection: below TLS, or `socket` itself. */
  private readonly below: Socket;
  private readonly reader = new RequestReader();
  private readonly replies: Replies;
  private readonly deadlines: Deadlines;
  private state: 'open' | 'lingering' | 'closed' = 'open';
  private isReading = false;
  private isHandling = false;
  /** The body that has arrived in part. Its request may have been answered already. */
  private arriving: ArrivingBody | undefined;
  /** Replies must be sent before another request is read. */
  private isHeldBack = false;
  private isSendPlanned = false;
  private isEndSent = false;
  private lingerBytesLeft: number = limits.http.lingerBytes;

  constructor(socket: Socket, below: Socket, options: ConnectionOptions) {
    const { listener, counters, idleMs } = options;
    this.socket = socket;
    this.below = below;
    this.options = options;
    const onReady = (exchange: Exchange) => this.noteReady(exchange);
    this.replies = new Replies(socket, listener, counters.pipelinedRequests, onReady);
    this.deadlines = new Deadlines(listener, idleMs);
    this.network = networkOf(socket.remoteAddress ?? '');
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('end', () => this.endInput());
    socket.on('drain', () => this.send());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.close());
  }

  get isIdle(): boolean {
    return this.hasNoRequest && this.socket.writableLength === 0;
  }

  get awaitsReply(): boolean {
    return this.isHandling || this.replies.awaitsReply;
  }

  get idleEndMs(): number {
    return this.deadlines.deadlineMs;
  }

  get heldBytes(): number {
    const bodyBytes = this.arriving?.heldBytes ?? 0;
    // Linux keeps what was sent until the client reads it, and a stranger may never read.
    const { sentBytes, unsentBytes } = this.replies;
    const unreadBytes =
      this.account === undefined ? Math.min(sentBytes, limits.http.kernelBytes) : 0;
    return this.reader.heldBytes + bodyBytes + unsentBytes + unreadBytes;
  }

  private receive(chunk: Buffer): void {
    if (this.state !== 'open') return this.discard(chunk.length);
    this.reader.append(chunk);
    this.read();
  }

  private endInput(): void {
    this.reader.isEnded = true;
    this.replies.noteClientClosed();
    if (this.state === 'open') this.read();
  }

  private read(): void {
    if (this.isReading) return;
    this.isReading = true;
    while (this.readNext());
    this.isReading = false;
    this.reader.dropRead();
    this.send();
  }

  /** @returns whether there may be more to read */
  private readNext(): boolean {
    if (this.state !== 'open' || this.isHandling) return false;
    if (this.arriving) return this.readBody(this.arriving);
    if (!this.replies.last) return this.readHead();
    // Requests behind the last reply are ignored.
    this.reader.drop();
    return false;
  }

  private readHead(): boolean {
    const fault = this.reader.skipEmptyLines();
    if (fault) return this.refuse(fault);
    if (this.reader.isBlank) return false;
    if (this.replies.isFull) return this.holdBack();
    const head = this.reader.readHead(this.options.listener.heads);
    if (head instanceof Refusal) return this.refuse(head);
    if (head) return this.begin(head);
    this.deadlines.limitRequest(limits.http.headersMs);
    return false;
  }

  private holdBack(): false {
    this.isHeldBack = true;
    this.deadlines.endRequest();
    this.socket.pause();
    return false;
  }

  private begin(head: RequestHead): true {
    const exchange = this.openExchange(head);
    if (!head.keepsAlive) this.replies.last = exchange;
    exchange.isReceived = head.framing === 0;
    const refusal =
      head.fault ?? (this.options.listener.phase === 'refusing' ? shuttingDown : undefined);
    const handling = catchDefect(exchange, () =>
      refusal ? sendRefusal(exchange, refusal) : this.options.handle(exchange, head),
    );
    if (handling) this.awaitHandler(handling, exchange, head.framing);
    else this.beginBody(exchange, head.framing);
    return true;
  }

  private openExchange(head: RequestHead | undefined): Exchange {
    const exchange = new Exchange(this.replies, head);
    this.replies.enqueue(exchange);
    this.deadlines.lift();
    this.options.crowd.touch(this);
    return exchange;
  }

  private awaitHandler(
    handling: Promise<void>,
    exchange: Exchange,
    framing: RequestHead['framing'],
  ): void {
    this.isHandling = true;
    this.socket.pause();
    void handling.then(() => {
      this.isHandling = false;
      if (this.state !== 'open') return;
      this.socket.resume();
      this.beginBody(exchange, framing);
      this.read();
    });
  }

  private beginBody(exchange: Exchange, framing: RequestHead['framing']): void {
    this.recognize(exchange.account);
    // The rest of the request is ignored behind the last reply.
    if (exchange.reply?.closes) return;
    const body = framing === 'chunked' ? undefined : this.reader.slice(framing);
    if (body) return this.endRequest(exchange, body);
    this.arriving = new ArrivingBody(exchange, framing);
  }

  private recognize(account: number | undefined): void {
    if (account === undefined) return;
    if (this.account === undefined) this.options.crowd.leaveStrangers(this);
    this.account = account;
  }

  private readBody(body: ArrivingBody): boolean {
    const { exchange } = body;
    const fault = this.reader.readInto(body);
    // The body was refused with the last reply, which makes the rest of it irrelevant.
    if (this.arriving !== body) return true;
    if (fault) return this.refuse(fault);
    if (body.discardedBytes > limits.http.lingerBytes) return this.stopReading(exchange);
    if (body.isWhole) {
      this.arriving = undefined;
      this.endRequest(exchange, body.release());
      return true;
    }
    if (this.reader.isEnded) return this.refuse(endedEarly);
    if (exchange.reply === undefined) this.deadlines.limitRequest(limits.http.requestMs);
    return false;
  }

  private endRequest(exchange: Exchange, body: Buffer): void {
    exchange.isReceived = true;
    this.deadlines.endRequest();
    const { bodyHandler } = exchange;
    if (bodyHandler && exchange.reply === undefined)
      catchDefect(exchange, () => bodyHandler.onBody(body));
  }

  /** The body of an answered request is too long to be discarded. */
  private stopReading(exchange: Exchange): false {
    if (exchange.isOver) this.destroy();
    this.replies.last = exchange;
    this.arriving = undefined;
    return false;
  }

  private refuse(refusal: Refusal): false {
    const exchange = this.arriving?.exchange ?? this.openExchange(undefined);
    this.arriving?.release();
    this.arriving = undefined;
    this.reader.drop();
    this.replies.last = exchange;
    this.deadlines.lift();
    sendRefusal(exchange, refusal);
    return false;
  }

  private noteReady(exchange: Exchange): void {
    if (exchange.reply && this.arriving?.exchange === exchange) {
      this.arriving.release();
      this.deadlines.lift();
      if (exchange.reply.closes) this.arriving = undefined;
    }
    this.sendSoon();
  }

  /** Replies of one turn of the event loop go out in one write. A lone reply does not wait. */
  private sendSoon(): void {
    // `read` ends with `send`.
    if (this.isReading || this.isSendPlanned) return;
    if (this.replies.isLone) return this.send();
    this.isSendPlanned = true;
    setImmediate(() => {
      this.isSendPlanned = false;
      this.send();
    });
  }

  private send(): void {
    if (this.state !== 'open' || this.isReading) return;
    this.sendReplies();
    // A connection that lingers has left the crowd.
    if (this.isOpen) this.options.crowd.update(this);
  }

  /** Sends the replies that are next in line, and then reads on if reading had to wait for them. */
  private sendReplies(): void {
    this.replies.send(this.options.listener.phase !== 'open' && this.reader.isBlank);
    if (this.arriving?.exchange.isOver) this.deadlines.limitDiscard(limits.http.lingerMs);
    if (this.replies.isFinished) return this.linger();
    if (this.hasNoRequest) return this.becomeIdle();
    if (!this.isHeldBack || this.replies.isFull) return;
    this.isHeldBack = false;
    this.socket.resume();
    this.read();
  }

  private get isOpen(): boolean {
    return this.state === 'open';
  }

  private get hasNoRequest(): boolean {
    return (
      this.replies.isIdle && this.arriving === undefined && !this.isHandling && this.reader.isBlank
    );
  }

  private becomeIdle(): void {
    if (this.reader.isEnded || this.options.listener.phase === 'refusing') return this.linger();
    if (!this.socket.writableNeedDrain) this.deadlines.limitIdle(this.options.idleMs);
  }

  endIfIdle(): void {
    if (this.isOpen && this.hasNoRequest) this.linger();
  }

  /** Ends the connection, but discards input for a while: a reset could destroy the last reply. */
  private linger(): void {
    this.state = 'lingering';
    this.arriving = undefined;
    this.reader.drop();
    this.deadlines.lift();
    const { requestMs, lingerMs } = limits.http;
    // A slow client may still read a large reply, and would lose it to the reset. A stop is brief.
    const ms =
      this.mayLeaveReplies && this.options.listener.phase === 'open' ? requestMs : lingerMs;
    // The time begins when the replies have been sent.
    this.socket.end(() => {
      this.isEndSent = true;
      this.deadlines.limitDiscard(ms);
    });
    this.socket.resume();
    this.options.crowd.linger(this);
  }

  giveWay(): void {
    // A client that does not read its replies gets no further one.
    const readsNothing = this.mayLeaveReplies || this.replies.hasUnsent;
    if (!this.isOpen || this.isHandling || readsNothing) return this.destroy();
    if (this.hasNoRequest || this.arriving?.exchange.isOver) return this.linger();
    this.refuse(noRoom);
  }

  private discard(bytes: number): void {
    this.lingerBytesLeft -= bytes;
    if (this.lingerBytesLeft < 0) this.destroy();
  }

  /** Ends what has taken too long. To be called every `limits.http.expiryCheckMs`. */
  expire(nowMs: number): void {
    const { hasUnsent, sentBytes } = this.replies;
    if (this.deadlines.isStuck(nowMs, hasUnsent, sentBytes, this.options.stuckMs))
      return this.destroy();
    if (!this.deadlines.hasPassed(nowMs)) return;
    if (this.state !== 'open') return this.destroy();
    if (this.hasNoRequest || this.arriving?.exchange.isOver) return this.linger();
    this.refuse(tooSlow);
  }

  destroy(): void {
    // A reset would fail while the end of the connection is being sent.
    const mayReset = this.state === 'open' || this.isEndSent;
    // Without a reset, the kernel keeps the connection until all is sent.
    if (mayReset && (this.mayLeaveReplies || this.replies.hasUnsent)) this.below.resetAndDestroy();
    this.below.destroy();
    if (!this.isOpen) return;
    this.state = 'lingering';
    this.options.crowd.end(this);
  }

  /** Linux would keep replies that a stranger does not read, for minutes, unless told to reset. */
  private get mayLeaveReplies(): boolean {
    return this.account === undefined && this.replies.sentBytes > limits.http.unsentBytes;
  }

  private close(): void {
    this.options.crowd.remove(this, this.state === 'lingering');
    this.state = 'closed';
    this.replies.abandon();
  }
}

const tooSlow = new Refusal('requestTimeout');
const noRoom = new Refusal(
  'overloaded',
  'Too many requests are arriving. This request stored nothing; retry later.',
);
const shuttingDown = new Refusal('shuttingDown');
