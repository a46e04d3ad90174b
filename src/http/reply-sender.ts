import type { Socket } from 'node:net';
import { reasonPhrases } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import type { Exchange, ListenerState, Reply } from './exchange.ts';
import { StreamedBody } from './streamed-body.ts';

/** What the connection hears of a streamed body. */
export interface StreamEvents {
  /** More of the body has been sent, or all. */
  streamed(): void;
  /** The source has failed. The client must not take what was sent for the whole. */
  streamFailed(error: unknown, exchange: Exchange, body: StreamedBody): void;
}

/** A streamed body under way. */
interface Streaming {
  readonly exchange: Exchange;
  readonly body: StreamedBody;
  isReading: boolean;
}

/**
 * Sends the replies of one connection in the order of their requests, which may be pipelined
 * (RFC 9112 §9.3.2).
 */
export class ReplySender {
  /** The connection ends with the reply of this exchange (RFC 9112 §9.6). */
  last: Exchange | undefined;
  /** Requests whose replies have not been sent. */
  private readonly due: Exchange[] = [];
  /** Bodies of replies that wait for the replies before them. */
  private waitingBytes = 0;
  private writtenBytes = 0;
  /** Unsent bytes of a reply whose head has been sent. */
  private file: Buffer | undefined;
  /** A streamed reply whose head has been sent. */
  private streaming: Streaming | undefined;
  private readonly socket: Socket;
  private readonly listener: ListenerState;
  /** Requests behind another request, on all connections of the process. */
  private readonly pipelined: SharedCounter;
  private readonly events: StreamEvents;

  constructor(
    socket: Socket,
    listener: ListenerState,
    pipelined: SharedCounter,
    events: StreamEvents,
  ) {
    this.socket = socket;
    this.listener = listener;
    this.pipelined = pipelined;
    this.events = events;
  }

  get dueCount(): number {
    return this.due.length;
  }

  get isIdle(): boolean {
    return this.due.length === 0 && !this.hasBody;
  }

  /** A body is under way behind its head. */
  private get hasBody(): boolean {
    return this.file !== undefined || this.streaming !== undefined;
  }

  /** A streamed reply is under way, or in line. */
  get hasStream(): boolean {
    const isStreamed = ({ reply }: Exchange) => reply?.body instanceof StreamedBody;
    return this.streaming !== undefined || this.due.some(isStreamed);
  }

  /** The last reply of the connection has been sent. */
  get isFinished(): boolean {
    return this.last?.isOver === true && !this.hasBody;
  }

  /** The client could take more now. What a source has yet to give does not count. */
  get hasUnsent(): boolean {
    return this.file !== undefined || this.socket.writableLength > 0;
  }

  /** What the kernel has taken since the start of the connection. Strings count by characters. */
  get takenBytes(): number {
    return this.writtenBytes - this.socket.writableLength;
  }

  /** Replies must be sent before another request is read. */
  get isCrowded(): boolean {
    return (
      this.due.length >= limits.http.pipelineMax ||
      this.waitingBytes > limits.http.unsentBytes ||
      (this.due.length > 0 && !this.pipelined.add(0, limits.http.pipelinedInAllMax - 1)) ||
      this.socket.writableNeedDrain
    );
  }

  /** Puts the reply of a request in line, before there is a reply. */
  expect(exchange: Exchange): void {
    // A malformed request gets its refusal beyond the bound, too.
    if (this.due.length > 0) this.pipelined.add(1, Number.POSITIVE_INFINITY);
    this.due.push(exchange);
  }

  /** The exchange has its reply now. */
  noteReply(exchange: Exchange): void {
    this.waitingBytes += exchange.reply?.body.length ?? 0;
    if (exchange.reply?.closes) this.last = exchange;
  }

  /**
   * Sends the replies that are next in line, a body behind its head as far as the client takes it.
   *
   * @param isEnding the connection ends with the last reply in line
   */
  send(isEnding: boolean): void {
    do {
      const text = this.takeReplies(isEnding);
      if (text !== '') this.write(text);
    } while (this.sendFile());
    this.readSource();
  }

  private write(content: string | Uint8Array): void {
    this.writtenBytes += content.length;
    this.socket.write(content);
  }

  /** Takes replies up to the head of a reply whose body follows. */
  private takeReplies(isEnding: boolean): string {
    let text = '';
    while (!this.hasBody) {
      const exchange = this.due[0];
      if (exchange === undefined) break;
      if (exchange.isContinueDue) text += continueText;
      exchange.isContinueDue = false;
      const { reply } = exchange;
      if (reply === undefined) break;
      if (isEnding && this.due.length === 1) this.last = exchange;
      text += this.textOf(exchange, reply);
      if (typeof reply.body !== 'string') this.beginBody(exchange, reply.body);
      this.remove(exchange, reply);
    }
    return text;
  }

  private beginBody(exchange: Exchange, body: Buffer | StreamedBody): void {
    if (!(body instanceof StreamedBody)) this.file = exchange.isHead ? undefined : body;
    else if (exchange.isHead) body.cancel();
    else this.streaming = { exchange, body, isReading: false };
  }

  /** A reply on the wire (RFC 9112 §4), with a body that is text. */
  private textOf(exchange: Exchange, { status, lines, body }: Reply): string {
    const { date, keepAliveLines } = this.listener;
    const length = framingOf(status, body);
    const connectionLines = this.last === exchange ? closeLines : keepAliveLines;
    const head = `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\n${lines}${length}`;
    const rest = `X-Request-Id: ${exchange.requestId}\r\nDate: ${date}\r\n${connectionLines}\r\n`;
    // The reply to a HEAD ends before the body (RFC 9110 §9.3.2).
    return exchange.isHead || typeof body !== 'string' ? head + rest : head + rest + body;
  }

  private remove(exchange: Exchange, reply: Reply): void {
    exchange.isOver = true;
    this.due.shift();
    this.waitingBytes -= reply.body.length;
    if (this.due.length > 0) this.pipelined.take(1);
  }

  /** @returns whether a file has been sent to its end */
  private sendFile(): boolean {
    if (this.file === undefined) return false;
    while (this.file.length > 0 && !this.socket.writableNeedDrain) {
      this.write(this.file.subarray(0, limits.http.unsentBytes));
      this.file = this.file.subarray(limits.http.unsentBytes);
    }
    if (this.file.length > 0) return false;
    this.file = undefined;
    return true;
  }

  /** Reads on in the source of a streamed body once the client has taken what was sent. */
  private readSource(): void {
    const { streaming } = this;
    if (!streaming || streaming.isReading || this.socket.writableNeedDrain) return;
    streaming.isReading = true;
    const { exchange, body } = streaming;
    body.read().then(
      ({ parts, isLast }) => {
        streaming.isReading = false;
        // The connection may have been closed meanwhile.
        if (this.streaming !== streaming) return;
        this.socket.cork();
        for (const part of parts) this.write(part);
        this.socket.uncork();
        if (isLast) this.streaming = undefined;
        this.events.streamed();
      },
      (error) => {
        if (this.streaming === streaming) this.events.streamFailed(error, exchange, body);
      },
    );
  }

  /** The client has closed its half of the connection, and may still read. */
  noteClientClosed(): void {
    for (const { taker } of this.due) taker?.noteClientClosed?.();
  }

  /** The connection is closed. */
  abandon(): void {
    this.noteClientClosed();
    this.streaming?.body.cancel();
    this.streaming = undefined;
    if (this.due.length > 1) this.pipelined.take(this.due.length - 1);
    for (const exchange of this.due.splice(0)) {
      exchange.isOver = true;
      if (exchange.reply?.body instanceof StreamedBody) exchange.reply.body.cancel();
    }
  }
}

function framingOf(status: number, body: Reply['body']): string {
  if (hasNoBody(status)) return '';
  if (body instanceof StreamedBody) return body.line;
  return `Content-Length: ${Buffer.byteLength(body)}\r\n`;
}

/** RFC 9110 §8.6: such a reply has no Content-Length of its own body. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}

const closeLines = 'Connection: close\r\n';
const continueText = 'HTTP/1.1 100 Continue\r\n\r\n';
