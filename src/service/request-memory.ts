import type { Refusal } from '../contract/problems.ts';
import { type LoggedRequest, requestIdOf } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import {
  byKind,
  keptOf,
  type RecentRequest,
  type RequestsOfThread,
  type RequestsWanted,
  type ToldRequests,
} from '../ops/recent-requests.ts';

/** What an HTTP thread remembers of its last requests. */
export interface RequestMemory {
  noteRefusal(refusal: Refusal, request: LoggedRequest): void;
  /** Remembers a sample of the creates, while an operator looks at them. */
  noteCreate(outcome: 'created' | 'same', request: LoggedRequest): void;
  recall(wanted: RequestsWanted): RequestsOfThread;
}

/** A `RecentRequest` whose id is not yet text: a note takes 0.06 µs. */
interface Noted extends Omit<RecentRequest, 'requestId'> {
  readonly number: number;
}

/**
 * @param now milliseconds since the epoch
 * @param elapsed milliseconds of a monotonic clock
 */
export function rememberRequests(
  requestIdPrefix: string,
  now: () => number,
  elapsed: () => number,
): RequestMemory {
  const rings = byKind((kind) => new Ring<Noted>(keptOf(kind)));
  let isWatched = false;
  let watchedUntilMs = 0;
  let nextCreateMs = 0;

  function noted(
    outcome: Noted['outcome'],
    message: string,
    { number, client, sender, line }: LoggedRequest,
    tokenHash?: Uint8Array,
  ): Noted {
    return { atMs: now(), number, outcome, message, client, sender: sender?.name, line, tokenHash };
  }

  const named = ({ number, ...rest }: Noted): RecentRequest => ({
    ...rest,
    requestId: requestIdOf(requestIdPrefix, number),
  });
  const told = (ring: Ring<Noted>, after: number): ToldRequests => ({
    requests: ring.after(after).map(named),
    made: ring.made,
  });

  return {
    noteRefusal({ problem, message, tokenHash }, request) {
      const ofKnown = problem === 'rateLimited' ? rings.limited : rings.known;
      const ring = request.sender ? ofKnown : rings.unknown;
      ring.add(noted(problem, message, request, tokenHash));
    },
    noteCreate(outcome, request) {
      if (!isWatched) return;
      const nowMs = elapsed();
      isWatched = nowMs < watchedUntilMs;
      if (!isWatched || nowMs < nextCreateMs) return;
      nextCreateMs = nowMs + limits.ops.createEveryMs;
      rings.creates.add(noted(outcome, '', request));
    },
    recall({ after, watchesCreates }) {
      if (watchesCreates) {
        isWatched = true;
        watchedUntilMs = elapsed() + limits.ops.createsWatchedMs;
      }
      return byKind((kind) => told(rings[kind], after[kind]));
    },
  };
}

/** The last `max` entries. */
class Ring<Entry> {
  /** Entries since the start. */
  made = 0;
  private readonly max: number;
  private readonly entries: Entry[] = [];

  constructor(max: number) {
    this.max = max;
  }

  add(entry: Entry): void {
    this.entries[this.made % this.max] = entry;
    this.made += 1;
  }

  /** The entries after the first `count`, as far as they are kept, in their order. */
  after(count: number): Entry[] {
    const kept = Math.min(this.made - count, this.entries.length);
    return Array.from(
      { length: kept },
      (_, index) => this.entries[(this.made - kept + index) % this.max] as Entry,
    );
  }
}
