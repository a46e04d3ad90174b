import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../shared-counter.ts';
import { type BodyTaker, type Exchange, sendRefusal } from './exchange.ts';
import { quotedString, tokenCharacter } from './grammar.ts';
import type { RequestHead } from './request-head.ts';

/** What the head alone says against the body: code 41300 or 41500, before a byte of it is read. */
export function refuseByHead({ fields, framing }: RequestHead, bodyBytesMax: number): Refusal | undefined {
  if (!isJsonInUtf8(fields.get('content-type'))) {
    return new Refusal('mediaTypeUnsupported', 'The body must have the header `Content-Type: application/json`, and be encoded as UTF-8.');
  }
  if (fields.has('content-encoding')) {
    return new Refusal('mediaTypeUnsupported', 'The body must not be compressed: send it without the header `Content-Encoding`.');
  }
  return framing !== 'chunked' && framing > bodyBytesMax ? tooLarge(bodyBytesMax) : undefined;
}

export interface BodyOptions {
  readonly bodyBytesMax: number;
  /** What the bodies that are still arriving hold together. */
  readonly held: { readonly bodyBytes: SharedCounter };
}

/**
 * Reads the body and hands it over once it is whole. A body that grows past `bodyBytesMax` is refused with 41300, one for
 * which there is no memory with 50300; of one that breaks off nothing is handed over.
 */
export function readBody(exchange: Exchange, options: BodyOptions, done: (body: Buffer) => void): void {
  exchange.takeBody(new BodyReader(exchange, options, done));
}

class BodyReader implements BodyTaker {
  private readonly exchange: Exchange;
  private readonly options: BodyOptions;
  private readonly done: (body: Buffer) => void;
  private readonly parts: Buffer[] = [];
  private bytes = 0;
  private bytesHeld = 0;

  constructor(exchange: Exchange, options: BodyOptions, done: (body: Buffer) => void) {
    this.exchange = exchange;
    this.options = options;
    this.done = done;
  }

  part(part: Buffer): void {
    const { bodyBytesMax } = this.options;
    this.bytes += part.length;
    this.parts.push(part);
    if (this.bytes > bodyBytesMax) return sendRefusal(this.exchange, tooLarge(bodyBytesMax));
    // One that comes whole waits for nothing, so small plants pass while large bodies use up what there is.
    if (part.length !== this.exchange.head?.framing) this.hold(part.length);
  }

  private hold(bytes: number): void {
    if (this.options.held.bodyBytes.add(bytes, limits.arrivingBytesMax)) this.bytesHeld += bytes;
    else sendRefusal(this.exchange, noMemory);
  }

  end(): void {
    this.abandon();
    this.done(this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts));
  }

  abandon(): void {
    if (this.bytesHeld > 0) this.options.held.bodyBytes.take(this.bytesHeld);
    this.bytesHeld = 0;
  }
}

const noMemory = new Refusal('overloaded', 'Too many large bodies are arriving. This plant was not stored; retry later.');

function tooLarge(bodyBytesMax: number): Refusal {
  return new Refusal('bodyTooLarge', `The body is over the limit of ${bodyBytesMax} bytes.`);
}

/** Of several lines (RFC 9110 §8.3), the comma between them might pass for a part of a quoted string. */
function isJsonInUtf8(contentTypes: readonly string[] | undefined): boolean {
  const [contentType = ''] = contentTypes ?? [];
  return contentTypes?.length === 1 && (contentType === 'application/json' || jsonInUtf8.test(contentType));
}

const token = `${tokenCharacter}+`;
const utf8 = '(?:utf-8|"\\\\?u\\\\?t\\\\?f\\\\?-\\\\?8")';

/**
 * `application/json` with parameters, or semicolons without (RFC 9110 §8.3.1, §5.6.6). Every charset among them is UTF-8;
 * the others mean nothing.
 */
const jsonInUtf8 = new RegExp(
  `^application/json(?:[ \\t]*;(?:[ \\t]*(?:charset=${utf8}|(?!charset=)${token}=(?:${token}|${quotedString})))?)*$`,
  'i',
);
