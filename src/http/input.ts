import { limits } from '../limits.ts';

const nothing = Buffer.alloc(0);
const endOfHead = Buffer.from('\r\n\r\n');
const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** What has come on a connection and has not been worked on yet. */
export class Input {
  /** Of these, what is before `position` is of no more use. */
  bytes: Buffer = nothing;
  position = 0;
  /** Line ends that have been skipped since the last head. */
  emptyLineBytes = 0;

  get length(): number {
    return this.bytes.length - this.position;
  }

  append(chunk: Buffer): void {
    this.bytes =
      this.length === 0 ? chunk : Buffer.concat([this.bytes.subarray(this.position), chunk]);
    this.position = 0;
  }

  /** Whether no part of a request has come: nothing has, or the first half of a line end. */
  get isBlank(): boolean {
    return this.length === 0 || (this.length === 1 && this.bytes[this.position] === carriageReturn);
  }

  /** RFC 9112 §2.2: old clients send empty lines behind a body. */
  skipEmptyLines(): void {
    const start = this.position;
    while (
      this.bytes[this.position] === carriageReturn &&
      this.bytes[this.position + 1] === lineFeed
    )
      this.position += 2;
    this.emptyLineBytes += this.position - start;
  }

  /**
   * @returns the lines of a head, without the empty one behind them; undefined if it has not come
   * whole or is too large
   */
  takeHead(): string | undefined {
    const end = this.bytes.indexOf(endOfHead, this.position);
    if (end < 0 || end - this.position > limits.http.headerBytesMax) return undefined;
    const text = this.bytes.toString('latin1', this.position, end);
    this.position = end + endOfHead.length;
    this.emptyLineBytes = 0;
    return text;
  }

  take(length: number): Buffer {
    const start = this.position;
    this.position += length;
    return this.bytes.subarray(start, this.position);
  }

  drop(): void {
    this.bytes = nothing;
    this.position = 0;
  }
}
