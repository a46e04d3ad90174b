import type { Socket } from 'node:net';
import { reasonPhrases } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import type { Exchange, ListenerState, Reply } from './exchange.ts';

/** Sends the replies of one connection in the order of their requests (RFC 9112 §9.3.2). */
export class Replies {
  /** The connection ends with the reply of this exchange (RFC 9112 §9.6). */
  last: Exchange | undefined;
  /** Of requests that have arrived, whether or not they are answered. */
  private readonly inLine: Exchange[] = [];
  /** Bodies of replies that wait for the replies before them. */
  private waitingBytes = 0;
  private writtenBytes = 0;
  /** Unsent bytes of a reply whose head has been sent. */
  private rest: Buffer | undefined;
  private readonly socket: Socket;
  readonly listener: ListenerState;
  private readonly pipelined: SharedCounter;
  private readonly onReady: (exchange: Exchange) => void;

  /** @param onReady called when an exchange has its reply, or wants `100 Continue` */
  constructor(
    socket: Socket,
    listener: ListenerState,
    pipelined: SharedCounter,
    onReady: (exchange: Exchange) => void,
  ) {
    this.socket = socket;
    this.listener = listener;
    this.pipelined = pipelined;
    this.onReady = onReady;
  }

  get address(): string {
    return this.socket.remoteAddress ?? '';
  }

  get isLone(): boolean {
    return this.inLine.length === 1;
  }

  /** A whole request waits for its answer. */
  get awaitsReply(): boolean {
    const [first] = this.inLine;
    return first?.isReceived === true && first.reply === undefined;
  }

  get isIdle(): boolean {
    return this.inLine.length === 0 && this.rest === undefined;
  }

  get isFinished(): boolean {
    return this.last?.isOver === true && this.rest === undefined;
  }

  /** Bytes that the kernel does not have yet. Short texts count by characters. */
  get unsentBytes(): number {
    return this.waitingBytes + this.socket.writableLength;
  }

  get hasUnsent(): boolean {
    return this.rest !== undefined || this.socket.writableLength > 0;
  }

  /** What the kernel has got since the start of the connection. Short texts count by characters. */
  get sentBytes(): number {
    return this.writtenBytes - this.socket.writableLength;
  }

  /** Replies must be sent before another request is read. */
  get isFull(): boolean {
    return (
      this.inLine.length >= limits.http.pipelineMax ||
      this.waitingBytes > limits.http.unsentBytes ||
      (this.inLine.length > 0 && !this.pipelined.add(0, limits.http.pipelinedInAllMax - 1)) ||
      this.socket.writableNeedDrain
    );
  }

  /** Puts the reply of a request in line, before there is a reply. */
  enqueue(exchange: Exchange): void {
    // A malformed request gets its refusal beyond the bound, too.
    if (this.inLine.length > 0) this.pipelined.add(1, Number.POSITIVE_INFINITY);
    this.inLine.push(exchange);
  }

  replied(exchange: Exchange): void {
    this.waitingBytes += exchange.reply?.body.length ?? 0;
    if (exchange.reply?.closes) this.last = exchange;
    this.onReady(exchange);
  }

  continue(exchange: Exchange): void {
    exchange.isContinueDue = true;
    this.onReady(exchange);
  }

  /**
   * Sends the replies that are next in line, a body behind its head as far as the client takes it.
   *
   * @param isEnding the connection ends with the last reply in line
   */
  send(isEnding: boolean): void {
    do {
      const text = this.nextText(isEnding);
      if (text !== '') this.write(text);
    } while (this.sendRest());
  }

  private write(content: string | Buffer): void {
    // Of a long text, the bytes count, which may be three for a character.
    const isLong = content.length > limits.http.unsentBytes;
    const written = isLong && typeof content === 'string' ? Buffer.from(content) : content;
    this.writtenBytes += written.length;
    this.socket.write(written);
  }

  /** The replies that are next in line, up to the head of a reply whose body follows. */
  private nextText(isEnding: boolean): string {
    let text = '';
    while (this.rest === undefined) {
      const exchange = this.inLine[0];
      if (exchange === undefined) break;
      if (exchange.isContinueDue) text += continueText;
      exchange.isContinueDue = false;
      const { reply } = exchange;
      if (reply === undefined) break;
      if (isEnding && this.inLine.length === 1) this.last = exchange;
      text += this.textOf(exchange, reply);
      if (typeof reply.body !== 'string') this.rest = exchange.isHead ? undefined : reply.body;
      this.remove(exchange, reply);
    }
    return text;
  }

  /** A reply on the wire (RFC 9112 §4), with a body that is text. */
  private textOf(exchange: Exchange, reply: Reply): string {
    const { date, keepAliveLines } = this.listener;
    const { status, body } = reply;
    const lines = reply.lines + exchange.lines;
    // RFC 9110 §8.6: such a reply has no Content-Length of its own body.
    const hasLength = status !== 204 && status !== 304;
    const length = hasLength ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
    const connectionLines = this.last === exchange ? closeLines : keepAliveLines;
    const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}${length}`;
    const rest = `X-Request-Id: ${exchange.requestId}\r\nDate: ${date}\r\n${connectionLines}\r\n`;
    // The reply to a HEAD ends before the body (RFC 9110 §9.3.2).
    return exchange.isHead || typeof body !== 'string' ? head + rest : head + rest + body;
  }

  private remove(exchange: Exchange, reply: Reply): void {
    exchange.isOver = true;
    this.inLine.shift();
    this.waitingBytes -= reply.body.length;
    if (this.inLine.length > 0) this.pipelined.subtract(1);
  }

  /** @returns whether there was a rest, and all of it has been sent */
  private sendRest(): boolean {
    if (this.rest === undefined) return false;
    while (this.rest.length > 0 && !this.socket.writableNeedDrain) {
      this.write(this.rest.subarray(0, limits.http.unsentBytes));
      this.rest = this.rest.subarray(limits.http.unsentBytes);
    }
    if (this.rest.length > 0) return false;
    this.rest = undefined;
    return true;
  }

  /** The client has closed its half of the connection, and may still read. */
  noteClientClosed(): void {
    for (const { bodyHandler } of this.inLine) bodyHandler?.onClientClosed?.();
  }

  abandon(): void {
    this.noteClientClosed();
    if (this.inLine.length > 1) this.pipelined.subtract(this.inLine.length - 1);
    for (const exchange of this.inLine.splice(0)) exchange.isOver = true;
  }
}

const closeLines = 'Connection: close\r\n';
const continueText = 'HTTP/1.1 100 Continue\r\n\r\n';
