import { setTimeout as delay } from 'node:timers/promises';

export interface RefreshOptions {
  readonly read: () => Promise<void>;
  readonly everyMs: number;
  readonly retryMs: number;
  /** Shortest interval of the reads that `again` causes. */
  readonly againMs: number;
  readonly staleMs: number;
  /** Called for the first of several failures in a row. */
  readonly onError: (error: unknown) => void;
}

/** One read at a time: so no read brings back what a later read found revoked. */
export function openRefresh({ read, everyMs, retryMs, againMs, staleMs, onError }: RefreshOptions) {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let beganMs = Number.NEGATIVE_INFINITY;
  let isOpen = true;
  let fault: unknown;
  let underWay: Promise<void> | undefined;
  let next: NodeJS.Timeout | undefined;
  /** What requests wait for: the end of the next read that begins, for any reason. */
  let requested: PromiseWithResolvers<void> | undefined;

  async function readNow(): Promise<void> {
    beganMs = performance.now();
    await read();
    readAtMs = beganMs;
  }

  async function readAndSchedule(): Promise<void> {
    clearTimeout(next);
    const awaited = requested;
    requested = undefined;
    const failure = await readNow().catch((error: Error) => error);
    if (failure !== undefined && fault === undefined) onError(failure);
    fault = failure;
    underWay = undefined;
    awaited?.resolve();
    const intervalMs = fault === undefined ? everyMs : retryMs;
    if (isOpen) next = setTimeout(readOnce, Math.max(0, beganMs + intervalMs - performance.now()));
  }

  function readOnce(): Promise<void> {
    if (isOpen) underWay ??= readAndSchedule();
    return underWay ?? Promise.resolve();
  }

  /** Reads as soon as it is allowed, unless another read begins before. */
  async function readFor(request: PromiseWithResolvers<void>): Promise<void> {
    while (requested === request && isOpen) {
      const waitMs = beganMs + againMs - performance.now();
      if (underWay === undefined && waitMs <= 0) void readOnce();
      else await (underWay ?? delay(waitMs, undefined, { ref: false }));
    }
  }

  return {
    async readFirst(): Promise<void> {
      await readNow();
      next = setTimeout(readOnce, everyMs);
    },
    /** Whether the last successful read began more than `staleMs` ago. Begins a read that is late. */
    isStale(): boolean {
      const ageMs = performance.now() - readAtMs;
      // The timers of a busy thread are late.
      if (ageMs > everyMs && fault === undefined) void readOnce();
      return ageMs > staleMs;
    },
    /** Whether the read is late only because this thread was busy. Then `again` is soon done. */
    isLate: () => fault === undefined && performance.now() - beganMs < everyMs,
    /** The error of the last read that has ended; undefined if the read has succeeded. */
    fault: () => fault,
    /** Resolves after a read that began after the call. @returns whether this read succeeded */
    async again(): Promise<boolean> {
      let request = requested;
      if (request === undefined) {
        request = requested = Promise.withResolvers();
        void readFor(request);
      }
      await request.promise;
      return fault === undefined;
    },
    [Symbol.dispose]() {
      isOpen = false;
      clearTimeout(next);
      requested?.resolve();
    },
  };
}
