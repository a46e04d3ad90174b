import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { type Exchange, sendRefusal } from './exchange.ts';
import { type BodyDecoder, chunkedDecoder, lengthDecoder } from './framing.ts';
import { quotedString, tokenCharacter } from './grammar.ts';
import type { RequestHead } from './request-head.ts';

/** What the head alone says against the body: code 41300 or 41500, before a byte of it is read. */
export function refuseByHead(head: RequestHead, bodyBytesMax: number): Refusal | undefined {
  const { fields } = head;
  if (!isJsonInUtf8(fields.get('content-type'))) {
    return new Refusal(
      'mediaTypeUnsupported',
      'The body must have the header `Content-Type: application/json`, and be encoded as UTF-8.',
    );
  }
  if (fields.has('content-encoding')) {
    return new Refusal(
      'mediaTypeUnsupported',
      'The body must not be compressed: send it without the header `Content-Encoding`.',
    );
  }
  return refuseByLength(head, bodyBytesMax);
}

/**
 * What its Content-Length says against the body: code 41300. A body in chunks is refused when it
 * grows past its bound.
 */
export function refuseByLength(
  { framing }: RequestHead,
  bodyBytesMax: number,
): Refusal | undefined {
  return framing !== 'chunked' && framing > bodyBytesMax ? tooLarge(bodyBytesMax) : undefined;
}

/** A body that comes in parts. It is bounded, by itself and with all the others. */
export class ArrivingBody {
  readonly exchange: Exchange;
  /** What has come of it although the request has been answered. */
  uselessBytes = 0;
  private readonly options: BodyOptions;
  private readonly decoder: BodyDecoder;
  /**
   * What has come of it is at its start. A part of its own for each chunk of a byte would take 100
   * times the memory.
   */
  private memory: Buffer = nothing;
  private bytes = 0;

  constructor(exchange: Exchange, framing: number | 'chunked', options: BodyOptions) {
    const take = (part: Buffer) => this.take(part);
    this.exchange = exchange;
    this.options = options;
    this.decoder = framing === 'chunked' ? chunkedDecoder(take) : lengthDecoder(framing, take);
  }

  get isWhole(): boolean {
    return this.decoder.isDone;
  }

  /**
   * As `BodyDecoder.read`. A body that grows past its bound is refused with 41300, one for which
   * there is no memory with 50300.
   */
  read(input: Buffer, position: number): number | Refusal {
    return this.decoder.read(input, position);
  }

  private take(part: Buffer): void {
    if (this.exchange.reply || this.exchange.taker === undefined) {
      this.uselessBytes += part.length;
      return;
    }
    if (!this.options.held.bodyBytes.add(part.length, limits.http.arrivingBytesMax))
      return sendRefusal(this.exchange, noMemory);
    this.append(part);
    if (this.bytes > this.options.bodyBytesMax)
      sendRefusal(this.exchange, tooLarge(this.options.bodyBytesMax));
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

  /** Gives back the memory that it holds. @returns what has come of it */
  release(): Buffer {
    this.options.held.bodyBytes.take(this.bytes);
    const body = this.memory.subarray(0, this.bytes);
    this.memory = nothing;
    this.bytes = 0;
    return body;
  }
}

const nothing = Buffer.alloc(0);

export interface BodyOptions {
  readonly bodyBytesMax: number;
  /** What the bodies that are still arriving hold together. */
  readonly held: { readonly bodyBytes: SharedCounter };
}

const noMemory = new Refusal(
  'overloaded',
  'Too many large bodies are arriving. This plant was not stored; retry later.',
);

function tooLarge(bodyBytesMax: number): Refusal {
  return new Refusal('bodyTooLarge', `The body is over the limit of ${bodyBytesMax} bytes.`);
}

/**
 * Of several lines (RFC 9110 §8.3), the comma between them might pass for a part of a quoted
 * string.
 */
export function isJsonInUtf8(contentTypes: readonly string[] | undefined): boolean {
  const [contentType = ''] = contentTypes ?? [];
  return (
    contentTypes?.length === 1 &&
    (contentType === 'application/json' || jsonInUtf8.test(contentType))
  );
}

const token = `${tokenCharacter}+`;
const utf8 = '(?:utf-8|"\\\\?u\\\\?t\\\\?f\\\\?-\\\\?8")';

/**
 * `application/json` with parameters, or semicolons without (RFC 9110 §8.3.1, §5.6.6). Every
 * charset among them is UTF-8; the others mean nothing.
 */
const jsonInUtf8 = new RegExp(
  `^application/json(?:[ \\t]*;(?:[ \\t]*(?:charset=${utf8}|(?!charset=)${token}=(?:${token}|${quotedString})))?)*$`,
  'i',
);
