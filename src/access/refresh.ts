import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

export interface RefreshOptions {
  readonly read: () => Promise<void>;
  /** Number of threads that refresh. Together they keep `limits.access.readAgainMs`. */
  readonly threads: number;
  /** Called for the first of several failures in a row. */
  readonly onError: (error: unknown) => void;
}

export interface Refresh extends Disposable {
  /** Whether the last successful read began more than `limits.access.staleMs` ago. */
  isStale(): boolean;
  /** Resolves after a read that began after the call. @returns whether this read succeeded */
  again(): Promise<boolean>;
}

/**
 * Reads every `limits.access.refreshMs`, one read at a time: so no read brings back what a later
 * read found revoked.
 *
 * @throws the error of the first read
 */
export async function startRefresh({ read, threads, onError }: RefreshOptions): Promise<Refresh> {
  const { refreshMs, refreshRetryMs, readAgainMs, staleMs } = limits.access;
  let readAtMs = 0;
  let beganMs = 0;
  let isOpen = true;
  let canRead = true;
  let underWay: Promise<void> | undefined;
  let next: NodeJS.Timeout | undefined;
  /** The read that requests wait for and that has not begun. */
  let requested: Promise<void> | undefined;

  async function readNow(): Promise<void> {
    beganMs = performance.now();
    await read();
    readAtMs = beganMs;
  }

  async function readAndSchedule(): Promise<void> {
    clearTimeout(next);
    canRead = await readNow().then(
      () => true,
      (error) => {
        if (canRead) onError(error);
        return false;
      },
    );
    underWay = undefined;
    const everyMs = canRead ? refreshMs : refreshRetryMs;
    if (isOpen) next = setTimeout(readOnce, beganMs + everyMs - performance.now());
  }

  function readOnce(): Promise<void> {
    if (isOpen) underWay ??= readAndSchedule();
    return underWay ?? Promise.resolve();
  }

  async function untilAllowed(): Promise<void> {
    for (;;) {
      const waitMs = beganMs + threads * readAgainMs - performance.now();
      if (underWay === undefined && waitMs <= 0) return;
      await (underWay ?? delay(waitMs));
    }
  }

  await readNow();
  next = setTimeout(readOnce, refreshMs);
  return {
    isStale() {
      const ageMs = performance.now() - readAtMs;
      // The timers of a busy thread are late.
      if (ageMs > refreshMs && canRead) void readOnce();
      return ageMs > staleMs;
    },
    async again() {
      requested ??= untilAllowed().then(() => {
        requested = undefined;
        return readOnce();
      });
      await requested;
      return canRead;
    },
    [Symbol.dispose]() {
      isOpen = false;
      clearTimeout(next);
    },
  };
}
