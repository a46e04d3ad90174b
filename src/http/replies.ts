import { limits } from '../limits.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import type { Exchange } from './exchange.ts';

/**
 * The requests of a connection whose replies have not been sent, in their order. One that comes
 * behind another is pipelined (RFC 9112 §9.3.2).
 */
export class Replies {
  private readonly due: Exchange[] = [];
  /** What the replies hold that wait for their turn. */
  private bytes = 0;
  /** Of all connections of the process. */
  private readonly pipelined: SharedCounter;

  constructor(pipelined: SharedCounter) {
    this.pipelined = pipelined;
  }

  get length(): number {
    return this.due.length;
  }

  /** Whether no request is to be begun behind those that wait. */
  get isFull(): boolean {
    if (this.length >= limits.http.pipelineMax || this.bytes > limits.http.unsentBytes) return true;
    return this.length > 0 && !this.pipelined.add(0, limits.http.pipelinedInAllMax - 1);
  }

  expect(exchange: Exchange): void {
    // A refusal is due however many there are.
    if (this.length > 0) this.pipelined.add(1, Number.POSITIVE_INFINITY);
    this.due.push(exchange);
  }

  /** There is a reply to that one now. */
  hold({ reply }: Exchange): void {
    this.bytes += reply?.body.length ?? 0;
  }

  /** The one whose turn it is. */
  get next(): Exchange | undefined {
    return this.due[0];
  }

  /** That one's reply has been sent. */
  shift(): void {
    this.bytes -= this.due.shift()?.reply?.body.length ?? 0;
    if (this.length > 0) this.pipelined.take(1);
  }

  /** The client has closed its half of the connection: it may have gone, or only send no more. */
  noteLeft(): void {
    for (const { taker } of this.due) taker?.noteLeft?.();
  }

  /** There is nobody any more to send them to. */
  abandon(): void {
    this.noteLeft();
    if (this.length > 1) this.pipelined.take(this.length - 1);
    for (const exchange of this.due.splice(0)) exchange.isOver = true;
  }
}
