import type { IncomingMessage } from 'node:http';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../shared-counter.ts';
import { type Exchange, guarded, sendRefusal } from './exchange.ts';
import { fieldLines } from './field-lines.ts';
import { tokenCharacter } from './grammar.ts';

/** What the header fields alone say against the body: code 41300 or 41500, before a byte of it is read. */
export function refuseByHeaders(request: IncomingMessage, bodyBytesMax: number): Refusal | undefined {
  const { 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (!isJsonInUtf8(request)) {
    return new Refusal('mediaTypeUnsupported', 'The body must have the header `Content-Type: application/json`, and be encoded as UTF-8.');
  }
  if (encoding !== undefined) {
    return new Refusal('mediaTypeUnsupported', 'The body must not be compressed: send it without the header `Content-Encoding`.');
  }
  return Number(length ?? 0) > bodyBytesMax ? tooLarge(bodyBytesMax) : undefined;
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
export function readBody(exchange: Exchange, { bodyBytesMax, held }: BodyOptions, done: (body: Buffer) => void): void {
  const { request, response } = exchange;
  const bytesToCome = Number(request.headers['content-length']);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let bytesHeld = 0;

  function hold(count: number): void {
    if (!held.bodyBytes.add(count, limits.arrivingBytesMax)) return sendRefusal(exchange, noMemory);
    if (bytesHeld === 0) request.once('close', () => held.bodyBytes.take(bytesHeld));
    bytesHeld += count;
  }

  if (exchange.expectsContinue) response.writeContinue();
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > bodyBytesMax) sendRefusal(exchange, tooLarge(bodyBytesMax));
    // One that comes whole waits for nothing, so small plants pass while large bodies use up what there is.
    else if (chunk.length !== bytesToCome) hold(chunk.length);
  });
  request.on('end', () => guarded(exchange, () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))));
}

const noMemory = new Refusal('overloaded', 'Too many large bodies are arriving. This plant was not stored; retry later.');

function tooLarge(bodyBytesMax: number): Refusal {
  return new Refusal('bodyTooLarge', `The body is over the limit of ${bodyBytesMax} bytes.`);
}

function isJsonInUtf8(request: IncomingMessage): boolean {
  const contentType = request.headers['content-type'];
  if (contentType === 'application/json') return true;
  // Of several lines (RFC 9110 §8.3), the comma between them may pass for a part of a quoted string.
  return contentType !== undefined && jsonInUtf8.test(contentType) && fieldLines(request, 'content-type') === 1;
}

const token = `${tokenCharacter}+`;
const quotedString = '"(?:[^"\\\\]|\\\\.)*"';
const utf8 = '(?:utf-8|"\\\\?u\\\\?t\\\\?f\\\\?-\\\\?8")';

/**
 * `application/json` with parameters, or semicolons without (RFC 9110 §8.3.1, §5.6.6). Every charset among them is UTF-8;
 * the others mean nothing.
 */
const jsonInUtf8 = new RegExp(
  `^application/json(?:[ \\t]*;(?:[ \\t]*(?:charset=${utf8}|(?!charset=)${token}=(?:${token}|${quotedString})))?)*$`,
  'i',
);
