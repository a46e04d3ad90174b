import type { Refusal } from '../contract/problems.ts';
import { type BodyDecoder, chunkedDecoder, lengthDecoder } from './body-decoder.ts';
import { type Exchange, refuseLongBody } from './exchange.ts';
import type { RequestHead } from './request-head.ts';

const nothing = Buffer.alloc(0);

/** A body that does not arrive in one piece. A body over its bound is refused with 41300. */
export class ArrivingBody {
  readonly exchange: Exchange;
  /** Bytes that arrived after the reply, or without a handler. */
  discardedBytes = 0;
  private readonly bytesMax: number;
  private readonly decoder: BodyDecoder;
  /** One buffer that grows: a list of parts of a byte each would take 100 times the memory. */
  private memory: Buffer = nothing;
  private bytes = 0;

  constructor(exchange: Exchange, framing: RequestHead['framing']) {
    const onPart = (part: Buffer) => this.receive(part);
    this.exchange = exchange;
    this.bytesMax = exchange.replies.listener.bodyBytesMax;
    this.decoder = framing === 'chunked' ? chunkedDecoder(onPart) : lengthDecoder(framing, onPart);
  }

  get heldBytes(): number {
    return this.memory.length;
  }

  get isWhole(): boolean {
    return this.decoder.isDone;
  }

  read(input: Buffer, position: number): number | Refusal {
    return this.decoder.read(input, position);
  }

  private receive(part: Buffer): void {
    if (this.exchange.reply || this.exchange.bodyHandler === undefined) {
      this.discardedBytes += part.length;
      return;
    }
    if (this.bytes + part.length > this.bytesMax) return refuseLongBody(this.exchange);
    this.append(part);
  }

  private append(part: Buffer): void {
    const bytes = this.bytes + part.length;
    if (bytes > this.memory.length) {
      const doubled = Math.min(2 * this.memory.length, this.bytesMax);
      const larger = Buffer.allocUnsafeSlow(Math.max(bytes, doubled));
      this.memory.copy(larger, 0, 0, this.bytes);
      this.memory = larger;
    }
    part.copy(this.memory, this.bytes);
    this.bytes = bytes;
  }

  /** Frees the memory of the body. @returns what has arrived of it */
  release(): Buffer {
    const body = this.memory.subarray(0, this.bytes);
    this.memory = nothing;
    this.bytes = 0;
    return body;
  }
}
