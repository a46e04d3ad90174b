import { limits } from '../limits.ts';

const never = Number.POSITIVE_INFINITY;

export interface Clock {
  now(): number;
  /** `now()` at the last check for expired deadlines, at most `limits.http.expiryCheckMs` ago. */
  readonly nowMs: number;
}

/** The deadlines of one connection, of which at most one is set. Times in milliseconds. */
export class Deadlines {
  private readonly clock: Clock;
  /** Undefined for a request that has arrived in one piece. */
  private requestBeganMs: number | undefined;
  deadlineMs = never;
  private sentBytes = 0;
  private progressMs: number;

  constructor(clock: Clock, idleMs: number) {
    this.clock = clock;
    this.progressMs = clock.nowMs;
    this.limitIdle(idleMs);
  }

  hasPassed(nowMs: number): boolean {
    return nowMs >= this.deadlineMs;
  }

  lift(): void {
    this.deadlineMs = never;
  }

  limitRequest(ms: number): void {
    this.requestBeganMs ??= this.clock.now();
    this.deadlineMs = this.requestBeganMs + ms;
  }

  endRequest(): void {
    this.requestBeganMs = undefined;
    this.deadlineMs = never;
  }

  /**
   * Bounds the wait for a request, unless a deadline is set: so only a request renews the wait, and
   * line ends do not. May be late by `limits.http.expiryCheckMs`, because the clock is not read.
   */
  limitIdle(ms: number): void {
    if (this.deadlineMs === never)
      this.deadlineMs = this.clock.nowMs + limits.http.expiryCheckMs + ms;
  }

  /** Bounds the time in which input is discarded, unless a deadline is set. */
  limitDiscard(ms: number): void {
    if (this.deadlineMs === never) this.deadlineMs = this.clock.now() + ms;
  }

  /** Whether the client has taken nothing of what is unsent for longer than `stuckMs`. */
  isStuck(nowMs: number, hasUnsent: boolean, sentBytes: number, stuckMs: number): boolean {
    if (!hasUnsent || sentBytes !== this.sentBytes) this.progressMs = nowMs;
    this.sentBytes = sentBytes;
    return nowMs - this.progressMs > stuckMs;
  }
}
