import { limits } from '../limits.ts';
import { ageText, isoTime, numberText } from '../quantity-text.ts';
import type { Durability, SharedStore } from '../store/store.ts';
import type { Log } from './log.ts';

/** What the store could not do. Times are those of `steadyMs`. */
export interface Outage {
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Requests that were refused. */
  readonly refused: number;
}

export type StoreWatch = ReturnType<typeof watchStore>;

/** In ms since the epoch, by the clock at the start: a step of the clock changes no interval. */
export function steadyMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Logs when an outage begins and ends, and when a 200 means less or more than before. */
export function watchStore(log: Log, nowMs = steadyMs) {
  const outages = tellOutages(log, nowMs);
  const durability = tellDurability(log, nowMs);
  let isOver = false;
  return {
    failed: outages.failed,
    weakerSinceMs: durability.weakerSinceMs,
    /** Makes a test write. @throws StoreError */
    async beat(store: Pick<SharedStore, 'beat' | 'durability'>): Promise<void> {
      const sinceMs = nowMs();
      try {
        await store.beat(Date.now());
      } catch (error) {
        const reason = (error as Error).message;
        // The end of the service cuts a test write.
        if (!isOver) outages.failed({ reason, sinceMs, untilMs: nowMs(), refused: 0 });
        throw error;
      }
      outages.stored(sinceMs);
      durability.note(store.durability());
    },
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}

function tellOutages(log: Log, nowMs: () => number) {
  let outage: { sinceMs: number; untilMs: number; toldMs: number; refused: number } | undefined;
  return {
    failed({ reason, sinceMs, untilMs, refused }: Outage): void {
      const atMs = nowMs();
      if (outage === undefined) {
        outage = { sinceMs, untilMs, toldMs: atMs, refused: 0 };
        const text = `clients get 503 with code 50301: ${reason}; a retry is safe`;
        log.error({ since: isoTime(sinceMs) }, text);
      }
      outage.untilMs = Math.max(outage.untilMs, untilMs);
      outage.refused += refused;
      if (atMs - outage.toldMs < limits.service.outageLineMs) return;
      outage.toldMs = atMs;
      log.warn(
        { since: isoTime(outage.sinceMs), refused: outage.refused },
        `clients have got 503 with code 50301 for ${ageText(atMs - outage.sinceMs)}: ${reason}`,
      );
    },
    /** Threads connect again one after the other, and report their refusals once a second. */
    stored(beganMs: number): void {
      if (outage === undefined || beganMs < outage.untilMs + limits.ops.heartbeatEveryMs) return;
      const { sinceMs, untilMs, refused } = outage;
      outage = undefined;
      // Each refusal is a moment.
      const seconds = (Math.max(100, untilMs - sinceMs) / 1_000).toFixed(1);
      const text = `creates are stored again after ${seconds} s; requests refused: ${numberText(refused)}`;
      log.info({ since: isoTime(sinceMs), refused }, text);
    },
  };
}

/** Compares what a 200 means with the last test write, and with the most since the start. */
function tellDurability(log: Log, nowMs: () => number) {
  let last: Durability | undefined;
  let disksMost = 0;
  let weakerSinceMs: number | undefined;

  function tell(now: Durability, gained: number): void {
    if (gained > 0) log.info({}, `a 200 means more from now on: ${now.says}`);
    else log.warn({}, `a 200 means ${gained < 0 ? 'less ' : ''}from now on: ${now.says}`);
  }

  return {
    note(now: Durability | undefined): void {
      if (now === undefined) return;
      if (last !== undefined && now.says !== last.says) tell(now, now.disks - last.disks);
      last = now;
      disksMost = Math.max(disksMost, now.disks);
      weakerSinceMs = now.disks < disksMost ? (weakerSinceMs ?? nowMs()) : undefined;
    },
    /** Since when a 200 means less than at an earlier time since the start. */
    weakerSinceMs: () => weakerSinceMs,
  };
}
