import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { type BodyDecoder, chunkedDecoder, lengthDecoder } from './body-decoder.ts';
import { bodyTooLarge } from './content-headers.ts';
import { type Exchange, sendRefusal } from './exchange.ts';
import type { RequestHead } from './request-head.ts';

interface BodyOptions {
  readonly bodyBytesMax: number;
  readonly counters: { readonly bodyBytes: SharedCounter };
}

const nothing = Buffer.alloc(0);

/** Refuses a body over its own bound with 41300, and over that of all bodies with 50300. */
export class ArrivingBody {
  readonly exchange: Exchange;
  /** Bytes that arrived after the reply, or without a taker. */
  discardedBytes = 0;
  private readonly options: BodyOptions;
  private readonly decoder: BodyDecoder;
  /** One buffer that grows: a list of parts of a byte each would take 100 times the memory. */
  private memory: Buffer = nothing;
  private bytes = 0;

  constructor(exchange: Exchange, framing: RequestHead['framing'], options: BodyOptions) {
    const take = (part: Buffer) => this.take(part);
    this.exchange = exchange;
    this.options = options;
    this.decoder = framing === 'chunked' ? chunkedDecoder(take) : lengthDecoder(framing, take);
  }

  get isWhole(): boolean {
    return this.decoder.isDone;
  }

  read(input: Buffer, position: number): number | Refusal {
    return this.decoder.read(input, position);
  }

  private take(part: Buffer): void {
    const { bodyBytesMax, counters } = this.options;
    if (this.exchange.reply || this.exchange.taker === undefined) {
      this.discardedBytes += part.length;
      return;
    }
    if (!counters.bodyBytes.add(part.length, limits.http.arrivingBytesMax))
      return sendRefusal(this.exchange, noMemory);
    this.append(part);
    if (this.bytes > bodyBytesMax) sendRefusal(this.exchange, bodyTooLarge(bodyBytesMax));
  }

  private append(part: Buffer): void {
    const bytes = this.bytes + part.length;
    if (bytes > this.memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.memory.length));
      this.memory.copy(larger, 0, 0, this.bytes);
      this.memory = larger;
    }
    part.copy(this.memory, this.bytes);
    this.bytes = bytes;
  }

  /** Frees the memory of the body. @returns what has arrived of it */
  release(): Buffer {
    this.options.counters.bodyBytes.take(this.bytes);
    const body = this.memory.subarray(0, this.bytes);
    this.memory = nothing;
    this.bytes = 0;
    return body;
  }
}

const noMemory = new Refusal(
  'overloaded',
  'Too many large bodies are arriving. Nothing was stored; retry later.',
);
