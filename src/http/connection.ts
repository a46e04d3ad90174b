import type { Socket } from 'node:net';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { ArrivingBody } from './body.ts';
import { Exchange, guarded, type Handle, type ListenerState, sendRefusal } from './exchange.ts';
import { Input } from './input.ts';
import { Replies } from './replies.ts';
import { closeLines, type Reply, replyText } from './reply.ts';
import { malformed, type RequestHead, readHead, UnfinishedHead } from './request-head.ts';
import type { Room } from './room.ts';

/** What all listeners of the process hold together. */
export interface HeldByConnections {
  readonly connections: SharedCounter;
  /** Requests that have come on a connection before the reply to the one before them was sent. */
  readonly pipelinedRequests: SharedCounter;
  /** What bodies hold that have come in part. */
  readonly bodyBytes: SharedCounter;
}

/** What a connection is served with. Times in milliseconds. */
export interface ConnectionOptions {
  readonly listener: ListenerState & {
    /** As of the last time that deadlines were looked at: it may be a while ago. */
    readonly nowMs: number;
    readonly date: string;
    now(): number;
    readonly keepAliveLines: string;
  };
  /** Told of each request that has come whole. */
  readonly room: Room | undefined;
  readonly held: HeldByConnections;
  readonly bodyBytesMax: number;
  readonly handle: Handle;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
  /** Replies that the client does not take for so long will never be taken. */
  readonly stuckMs: number;
}

/**
 * One connection (RFC 9112 §9): finds the requests in what comes, and sends the replies in their
 * order. It works on what has come until it needs more of it, or until replies have to be sent
 * first.
 */
export class Connection {
  readonly listener: ConnectionOptions['listener'];
  private readonly options: ConnectionOptions;
  private readonly socket: Socket;
  private readonly input = new Input();
  private isInputEnded = false;
  private readonly replies: Replies;
  /** The one that comes now, if its head has come in part. */
  private unfinishedHead: UnfinishedHead | undefined;
  /** The one whose body has come in part. It may have been answered already. */
  private arriving: ArrivingBody | undefined;
  /** The request that comes now is looked into before its body is read. */
  private isDeciding = false;
  /** Its reply is the last, so nothing behind it is looked at (RFC 9112 §9.6). */
  private final: Exchange | undefined;
  private state: 'open' | 'lingering' | 'gone' = 'open';
  /** Nothing is read until replies have been sent. */
  private isHeldUp = false;
  private isNew = true;
  private isWorking = false;
  private isSendingSoon = false;
  /** Start of the current request, undefined until it turns out to come in parts; next deadline. */
  private begunMs: number | undefined;
  private deadlineMs: number;
  /** What is still to be sent of a reply whose head has gone out. */
  private file: Buffer | undefined;
  /** Bytes that may still be thrown away behind the last reply. */
  private uselessBytesLeft: number = limits.http.lingerBytes;
  private unsentBytes = 0;
  private unsentSinceMs = 0;
  private lastHeadText = '';
  private lastHead: RequestHead | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.options = options;
    this.listener = options.listener;
    this.replies = new Replies(options.held.pipelinedRequests);
    this.begunMs = this.listener.now();
    this.deadlineMs = this.begunMs + options.headersMs;
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('end', () => this.endInput());
    socket.on('drain', () => this.send());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.close());
  }

  private receive(chunk: Buffer): void {
    if (this.state !== 'open') return this.readOver(chunk.length);
    if (this.isBetweenRequests() && !this.isNew) this.begunMs = undefined;
    this.input.append(chunk);
    this.work();
  }

  private endInput(): void {
    this.isInputEnded = true;
    this.replies.noteLeft();
    if (this.state === 'open') this.work();
  }

  private work(): void {
    if (this.isWorking) return;
    this.isWorking = true;
    while (this.advance());
    this.isWorking = false;
    // It would be kept until the next request comes.
    if (this.input.length === 0) this.input.drop();
    this.send();
  }

  /** @returns whether there may be more to do */
  private advance(): boolean {
    if (this.state !== 'open' || this.isDeciding) return false;
    if (this.arriving) return this.advanceBody(this.arriving);
    if (!this.final) return this.advanceHead();
    this.input.drop();
    return false;
  }

  private advanceHead(): boolean {
    this.input.skipEmptyLines();
    if (this.input.emptyLineBytes > limits.http.emptyLineBytesMax)
      return this.refuse(tooManyEmptyLines);
    if (this.input.isBlank) return false;
    if (this.isCrowded()) return this.holdUp();
    const text = this.input.takeHead();
    if (text === undefined) return this.awaitRestOfHead();
    this.unfinishedHead = undefined;
    this.begin(this.headOf(text));
    return true;
  }

  /** Clients repeat themselves: that saves 1.4 µs of a request. */
  private headOf(text: string): RequestHead | Refusal {
    if (this.lastHead && text === this.lastHeadText) return this.lastHead;
    const head = readHead(text);
    if (head instanceof Refusal || text.length > limits.http.rememberedHeadBytes) return head;
    this.lastHeadText = text;
    this.lastHead = head;
    return head;
  }

  /** Whether replies have to be sent before another request is begun. */
  private isCrowded(): boolean {
    return this.replies.isFull || this.socket.writableNeedDrain;
  }

  private holdUp(): false {
    this.isHeldUp = true;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.socket.pause();
    return false;
  }

  private awaitRestOfHead(): boolean {
    this.unfinishedHead ??= new UnfinishedHead();
    const fault = this.unfinishedHead.findFault(this.input.bytes, this.input.position);
    if (fault || this.isInputEnded) return this.refuse(fault ?? brokenOff);
    this.deadlineMs = this.begun() + this.options.headersMs;
    return false;
  }

  private begun(): number {
    this.begunMs ??= this.listener.now();
    return this.begunMs;
  }

  private begin(head: RequestHead | Refusal): void {
    if (head instanceof Refusal) return void this.refuse(head);
    const exchange = this.expect(head);
    if (!head.keepsAlive) this.final = exchange;
    exchange.isReceived = head.framing === 0;
    const refusal = head.fault ?? (this.listener.phase === 'refusing' ? shuttingDown : undefined);
    const step = () =>
      refusal ? sendRefusal(exchange, refusal) : this.options.handle(exchange, head);
    const deciding = guarded(exchange, step);
    if (deciding === undefined) return this.beginBody(exchange, head.framing);
    this.isDeciding = true;
    this.socket.pause();
    void deciding.then(() => this.decided(exchange, head.framing));
  }

  private decided(exchange: Exchange, framing: number | 'chunked'): void {
    this.isDeciding = false;
    if (this.state !== 'open') return;
    this.socket.resume();
    this.beginBody(exchange, framing);
    this.work();
  }

  /** From now on its reply is due. */
  private expect(head: RequestHead | undefined): Exchange {
    const exchange = new Exchange(this, head);
    this.replies.expect(exchange);
    this.isNew = false;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    return exchange;
  }

  private beginBody(exchange: Exchange, framing: number | 'chunked'): void {
    // With a reply that is the last, the rest of the request means nothing.
    if (exchange.reply?.closes) return;
    if (framing !== 'chunked' && this.input.length >= framing)
      return this.endBody(exchange, this.input.take(framing));
    this.arriving = new ArrivingBody(exchange, framing, this.options);
    if (exchange.isOver) this.discardRest();
  }

  /**
   * What still comes of the body of a request that has been answered is thrown away, for a while.
   */
  private discardRest(): void {
    this.deadlineMs = this.listener.now() + limits.http.lingerMs;
  }

  private advanceBody(body: ArrivingBody): boolean {
    const { exchange } = body;
    const next = body.read(this.input.bytes, this.input.position);
    // A part of it may have been refused in such a way that the rest means nothing, broken or not.
    if (this.arriving !== body) return true;
    if (next instanceof Refusal) return this.refuse(next);
    this.input.position = next;
    if (body.uselessBytes > limits.http.lingerBytes) return this.giveUp(exchange);
    if (!body.isWhole) return this.awaitRestOfBody(exchange);
    this.arriving = undefined;
    this.endBody(exchange, body.release());
    return true;
  }

  private endBody(exchange: Exchange, body: Buffer): void {
    exchange.isReceived = true;
    this.options.room?.noteRequest(this);
    this.begunMs = undefined;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    if (exchange.taker && exchange.reply === undefined)
      guarded(exchange, () => exchange.taker?.takeBody(body));
  }

  private awaitRestOfBody(exchange: Exchange): boolean {
    if (this.isInputEnded) return this.refuse(brokenOff);
    if (exchange.reply === undefined) this.deadlineMs = this.begun() + this.options.requestMs;
    return false;
  }

  /** Reads no more of a request that was answered long ago. */
  private giveUp(exchange: Exchange): false {
    if (exchange.isOver) this.destroy();
    this.final = exchange;
    this.arriving = undefined;
    return false;
  }

  /** Answers that what comes cannot be read any further. @returns that there is no more to do */
  private refuse(refusal: Refusal): false {
    const exchange = this.arriving?.exchange ?? this.expect(undefined);
    this.arriving?.release();
    this.arriving = undefined;
    this.final = exchange;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    sendRefusal(exchange, refusal);
    // It may have been answered, and the answer sent, before the rest of it turned out to be
    // broken.
    if (exchange.isOver && this.file === undefined) this.linger();
    return false;
  }

  replied(exchange: Exchange): void {
    this.replies.hold(exchange);
    if (this.arriving?.exchange === exchange) {
      this.arriving.release();
      this.deadlineMs = Number.POSITIVE_INFINITY;
      if (exchange.reply?.closes) this.arriving = undefined;
    }
    if (exchange.reply?.closes) this.final = exchange;
    this.sendSoon();
  }

  continue(exchange: Exchange): void {
    exchange.continues = true;
    this.sendSoon();
  }

  /** What is answered in one turn of the event loop is sent at once, if there is more than one. */
  private sendSoon(): void {
    // Whatever is done with the input ends with sending.
    if (this.isWorking || this.isSendingSoon) return;
    if (this.replies.length === 1) return this.send();
    this.isSendingSoon = true;
    setImmediate(() => {
      this.isSendingSoon = false;
      this.send();
    });
  }

  /**
   * Sends the replies whose turn has come, and goes on with the input if it had to wait for that.
   */
  private send(): void {
    if (this.state !== 'open' || this.isWorking) return;
    do {
      const text = this.takeReplies();
      if (text !== '') this.socket.write(text);
    } while (this.sendFile());
    if (this.file) return;
    if (this.final?.isOver) return this.linger();
    if (this.isIdle()) return this.rest();
    if (!this.isHeldUp || this.isCrowded()) return;
    this.isHeldUp = false;
    this.begunMs = undefined;
    this.socket.resume();
    this.work();
  }

  /** @returns whether one has gone out, so that what is due behind it can be sent */
  private sendFile(): boolean {
    if (this.file === undefined) return false;
    while (this.file.length > 0 && !this.socket.writableNeedDrain) {
      this.socket.write(this.file.subarray(0, limits.http.unsentBytes));
      this.file = this.file.subarray(limits.http.unsentBytes);
    }
    if (this.file.length > 0) return false;
    this.file = undefined;
    return true;
  }

  /** Up to the head of one with a file. */
  private takeReplies(): string {
    let text = '';
    for (
      let exchange = this.replies.next;
      exchange !== undefined && this.file === undefined;
      exchange = this.replies.next
    ) {
      if (exchange.continues) text += continueText;
      exchange.continues = false;
      if (exchange.reply === undefined) break;
      text += this.textOf(exchange, exchange.reply);
      if (typeof exchange.reply.body !== 'string' && !exchange.isToHead)
        this.file = exchange.reply.body;
      exchange.isOver = true;
      this.replies.shift();
      if (this.arriving?.exchange === exchange) this.discardRest();
    }
    return text;
  }

  private textOf(exchange: Exchange, reply: Reply): string {
    const isEnding =
      this.listener.phase !== 'open' && this.replies.length === 1 && this.input.isBlank;
    if (isEnding) this.final = exchange;
    const connectionLines = this.final === exchange ? closeLines : this.listener.keepAliveLines;
    return replyText(
      reply,
      exchange.requestId,
      this.listener.date,
      connectionLines,
      exchange.isToHead,
    );
  }

  /**
   * Where it comes from: an IP address. It takes a system call, so only listeners with a room ask.
   */
  get address(): string {
    return this.socket.remoteAddress ?? '';
  }

  /** No request is under way, not even in part. */
  private isIdle(): boolean {
    return this.replies.length === 0 && this.file === undefined && this.isBetweenRequests();
  }

  /** All that has come are whole requests. */
  private isBetweenRequests(): boolean {
    return this.arriving === undefined && !this.isDeciding && this.input.isBlank;
  }

  private rest(): void {
    if (this.isInputEnded || this.listener.phase === 'refusing') return this.linger();
    // Only a request lifts a deadline, so line ends do not renew it.
    if (this.deadlineMs !== Number.POSITIVE_INFINITY || this.socket.writableNeedDrain) return;
    this.deadlineMs = this.listener.nowMs + limits.http.expiryCheckMs + this.options.idleMs;
  }

  /** Ends the connection if nothing is under way. */
  endIfIdle(): void {
    if (this.state === 'open' && this.isIdle()) this.linger();
  }

  /**
   * Ends the connection, but reads on for a moment: a client that is still sending would be reset
   * before it has read the reply.
   */
  private linger(): void {
    this.state = 'lingering';
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.uselessBytesLeft = limits.http.lingerBytes;
    this.arriving = undefined;
    this.input.drop();
    // The moment begins when the replies have gone out: large ones may take longer than that.
    this.socket.end(() => (this.deadlineMs = this.listener.now() + limits.http.lingerMs));
    this.socket.resume();
  }

  private readOver(bytes: number): void {
    this.uselessBytesLeft -= bytes;
    if (this.uselessBytesLeft < 0) this.socket.destroy();
  }

  /** To be called from time to time: ends what has taken too long. */
  expire(nowMs: number): void {
    if (this.isStuck(nowMs)) return this.destroy();
    if (nowMs < this.deadlineMs) return;
    if (this.state !== 'open') return this.destroy();
    // Whoever still sends the rest of a request that has been answered has had the time to read the
    // reply.
    if (this.arriving?.exchange.isOver || (this.isIdle() && !this.isNew)) return this.linger();
    this.refuse(tooSlow);
  }

  /** Whether the client has taken nothing of what is to be sent for too long. */
  private isStuck(nowMs: number): boolean {
    const unsentBytes = this.socket.writableLength + (this.file?.length ?? 0);
    if (unsentBytes !== this.unsentBytes) this.unsentSinceMs = nowMs;
    this.unsentBytes = unsentBytes;
    return unsentBytes > 0 && nowMs - this.unsentSinceMs > this.options.stuckMs;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private close(): void {
    this.state = 'gone';
    this.replies.abandon();
    this.arriving?.release();
  }
}

const continueText = 'HTTP/1.1 100 Continue\r\n\r\n';
const tooManyEmptyLines = malformed('too many empty lines come before its request line');
const brokenOff = malformed('it ends too early');
const tooSlow = new Refusal(
  'requestTimeout',
  'The request took too long to arrive. Nothing was stored; send it again.',
);
const shuttingDown = new Refusal(
  'shuttingDown',
  'The service is shutting down. Nothing was stored; retry later.',
);
