import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { ArrivingBody } from './arriving-body.ts';
import type { RememberedHeads } from './remembered-heads.ts';
import { findFault, malformed, type RequestHead } from './request-head.ts';

const nothing = Buffer.alloc(0);
const endOfHead = Buffer.from('\r\n\r\n');
const carriageReturn = 0x0d;
const lineFeed = 0x0a;

export class RequestReader {
  isEnded = false;
  private bytes: Buffer = nothing;
  private position = 0;
  private emptyLineBytes = 0;

  append(chunk: Buffer): void {
    if (this.length === 0) this.bytes = chunk;
    else this.bytes = ownCopy(this.bytes.subarray(this.position), chunk);
    this.position = 0;
  }

  get heldBytes(): number {
    return this.bytes.length;
  }

  private get length(): number {
    return this.bytes.length - this.position;
  }

  /** No part of a request is unread, except for the first half of a line end. */
  get isBlank(): boolean {
    return this.length === 0 || (this.length === 1 && this.bytes[this.position] === carriageReturn);
  }

  drop(): void {
    this.bytes = nothing;
    this.position = 0;
  }

  dropRead(): void {
    if (this.length === 0) return this.drop();
    if (this.position === 0) return;
    this.bytes = ownCopy(this.bytes.subarray(this.position));
    this.position = 0;
  }

  /** RFC 9112 §2.2: old clients send empty lines after a body. */
  skipEmptyLines(): Refusal | undefined {
    const start = this.position;
    while (
      this.bytes[this.position] === carriageReturn &&
      this.bytes[this.position + 1] === lineFeed
    )
      this.position += 2;
    this.emptyLineBytes += this.position - start;
    return this.emptyLineBytes > limits.http.emptyLineBytesMax ? tooManyEmptyLines : undefined;
  }

  /** @returns undefined if the head has arrived in part and nothing of it is wrong */
  readHead(heads: RememberedHeads): RequestHead | Refusal | undefined {
    const end = this.bytes.indexOf(endOfHead, this.position);
    if (end < 0 || end - this.position > limits.http.headerBytesMax) {
      const fault = findFault(this.bytes.subarray(this.position));
      return fault ?? (this.isEnded ? endedEarly : undefined);
    }
    const start = this.position;
    this.position = end + endOfHead.length;
    this.emptyLineBytes = 0;
    return heads.read(this.bytes, start, end);
  }

  /** @returns undefined if the body has not arrived in full */
  slice(length: number): Buffer | undefined {
    if (this.length < length) return undefined;
    const start = this.position;
    this.position += length;
    return this.bytes.subarray(start, this.position);
  }

  /** Hands the unread bytes to `body`, up to its end. @returns why its framing is broken */
  readInto(body: ArrivingBody): Refusal | undefined {
    const next = body.read(this.bytes, this.position);
    if (next instanceof Refusal) return next;
    this.position = next;
    return undefined;
  }
}

/** Memory of its own: a part of a larger buffer keeps all of the larger one. */
function ownCopy(...parts: readonly Buffer[]): Buffer {
  const copy = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(copy, at);
  return copy;
}

const tooManyEmptyLines = malformed('too many empty lines precede the request line');
export const endedEarly = malformed('the client closed the connection before the request ended');
