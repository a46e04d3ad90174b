import type { Refusal } from '../contract/problems.ts';
import { type LoggedRequest, requestIdOf, requestIdParts, type Sender } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import { FairLog } from '../ops/fair-log.ts';
import {
  byKind,
  keptOf,
  ownerOf,
  type RecentRequest,
  type RequestKind,
  type RequestsOfThread,
  type RequestsWanted,
  type RequestTrace,
  type ToldRequests,
} from '../ops/recent-requests.ts';
import { RefusalTrace } from './refusal-trace.ts';

/** What an HTTP thread remembers of its last requests. */
export interface RequestMemory {
  noteRefusal(refusal: Refusal, request: LoggedRequest): void;
  /**
   * Remembers a sample of the creates of each sender.
   *
   * @param elapsedMs of a monotonic clock
   */
  noteCreate(outcome: 'created' | 'same', request: LoggedRequest, elapsedMs: number): void;
  /** @param lastNumber of the last request that has begun */
  recall(wanted: RequestsWanted, lastNumber: number): RequestsOfThread;
}

/** A `RecentRequest` whose id is not yet text: a note takes 0.2 µs. */
interface Noted extends Omit<RecentRequest, 'requestId'> {
  readonly number: number;
}

/** @param now milliseconds since the epoch */
export function rememberRequests(requestIdPrefix: string, now: () => number): RequestMemory {
  const logs = byKind((kind) => new FairLog<Noted>(keptOf(kind)));
  // A flood without a token leaves the refusals of the clients alone.
  const traces = { known: new RefusalTrace(), unknown: new RefusalTrace() };
  const nextCreateMs = new WeakMap<Sender, number>();

  function noted(
    outcome: Noted['outcome'],
    message: string,
    { number, client, sender, line }: LoggedRequest,
    cause?: string,
  ): Noted {
    return { atMs: now(), number, outcome, message, cause, client, sender: sender?.name, line };
  }

  const named = ({ number, ...rest }: Noted): RecentRequest => ({
    ...rest,
    requestId: requestIdOf(requestIdPrefix, number),
  });
  const told = (log: FairLog<Noted>, after: number): ToldRequests => ({
    requests: log.after(after).map(({ place, entry }) => ({ place, entry: named(entry) })),
    made: log.made,
  });
  const note = (kind: RequestKind, one: Noted) => logs[kind].add(ownerOf(one), one);
  function traceOf(requestId: string, lastNumber: number): RequestTrace | undefined {
    const { prefix, number } = requestIdParts(requestId);
    if (prefix !== requestIdPrefix) return undefined;
    const [known, unknown] = [traces.known.traceOf(number), traces.unknown.traceOf(number)];
    return {
      isGiven: number <= lastNumber,
      refusal: known.refusal ?? unknown.refusal,
      isCertain: known.isCertain && unknown.isCertain,
      afterMs: Math.max(known.afterMs, unknown.afterMs),
      beforeMs: Math.min(known.beforeMs, unknown.beforeMs),
    };
  }

  return {
    noteRefusal({ problem, message, cause }, request) {
      const kind = request.sender ? 'known' : 'unknown';
      const one = noted(problem, message, request, cause && excerptOf(cause));
      note(kind, one);
      traces[kind].note(one.number, one.atMs, problem, one.sender);
    },
    noteCreate(outcome, request, elapsedMs) {
      const { sender } = request;
      if (sender === undefined) return;
      if (elapsedMs < (nextCreateMs.get(sender) ?? 0)) return;
      nextCreateMs.set(sender, elapsedMs + limits.ops.createEveryMs);
      note('creates', noted(outcome, '', request));
    },
    recall({ after, traced }, lastNumber) {
      const known = traced.flatMap((requestId) => {
        const trace = traceOf(requestId, lastNumber);
        return trace === undefined ? [] : [[requestId, trace] as const];
      });
      return { ...byKind((kind) => told(logs[kind], after[kind])), traces: new Map(known) };
    },
  };
}

function excerptOf(cause: string): string {
  const { causeCharsMax } = limits.ops;
  return cause.length > causeCharsMax ? `${cause.slice(0, causeCharsMax)}…` : cause;
}
