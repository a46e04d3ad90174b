import type { Journal } from '../client.ts';

/** What clients have seen. */
export interface Seen {
  /** Replies. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Connections that ended without one. */
  readonly cut: number;
  /** From sending a request to its reply, or to the end of its connection. */
  readonly slowestMs: number;
}

/** Counts and times what clients see. */
export function createTally() {
  let statuses: Record<number, number> = {};
  let cut = 0;
  let slowestMs = 0;

  /** A journal that takes the times of what is written into it. */
  function timed(journal: Journal): Journal {
    const sentMs = new Map<number, number>();
    const settled = (n: number) => {
      slowestMs = Math.max(slowestMs, performance.now() - (sentMs.get(n) ?? Number.NaN));
      sentMs.delete(n);
    };
    return {
      ...journal,
      sent(request) {
        const n = journal.sent(request);
        sentMs.set(n, performance.now());
        return n;
      },
      answered(n, reply) {
        settled(n);
        journal.answered(n, reply);
      },
      lost(n) {
        settled(n);
        journal.lost(n);
      },
    };
  }

  return {
    timed,
    count(status: number | undefined): void {
      if (status === undefined) cut += 1;
      else statuses[status] = (statuses[status] ?? 0) + 1;
    },
    /** What was seen since the last call. */
    take(): Seen {
      const seen = { statuses, cut, slowestMs };
      [statuses, cut, slowestMs] = [{}, 0, 0];
      return seen;
    },
  };
}
