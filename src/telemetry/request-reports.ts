import { problems, type Refusal } from '../contract/problems.ts';
import { type Exchange, requestIdOf } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import type { RefusedRequest } from '../ops/contract.ts';
import { isStoreOutage } from '../tokens/access.ts';
import { type RequestCounts, Tally } from '../tokens/tally.ts';
import { type Outage, steadyMs } from './store-watch.ts';

export interface RequestReport {
  readonly tokens: readonly RequestCounts[];
  readonly refusals: readonly RefusedRequest[];
  /** Of the requests that were refused because of the store. */
  readonly failure: Outage | undefined;
}

/** Counts by token and gathers refusals on one thread, and reports both once a second at most. */
export function reportRequests(
  requestIdPrefix: string,
  now: () => number,
  report: (requests: RequestReport) => void,
) {
  const { refusalsKept } = limits.ops;
  /** Bounded by the requests of a second. */
  const changed: Tally[] = [];
  /** Their other texts are made once a second, for those that are kept: a note takes 0.2 µs. */
  let refusals: ReturnType<typeof noted>[] = [];
  let failure: Outage | undefined;

  function reportNow(): void {
    const tokens = changed.splice(0).map((tally) => tally.flush());
    const refused = refusals.slice(-refusalsKept).map(
      ({ atMs, number, problem, ...texts }): RefusedRequest => ({
        at: new Date(atMs).toISOString(),
        requestId: requestIdOf(requestIdPrefix, number),
        code: problems[problem].code,
        ...texts,
      }),
    );
    if (tokens.length + refused.length > 0) report({ tokens, refusals: refused, failure });
    refusals = [];
    failure = undefined;
  }

  const reporting = setInterval(reportNow, limits.ops.samplesEveryMs);
  return {
    newTally: (id: number, name: string) => new Tally(id, name, changed),
    noteRefusal(refusal: Refusal, exchange: Exchange): void {
      refusals.push(noted(refusal, exchange, now()));
      if (isStoreOutage(refusal)) failure = failureAfter(failure, refusal);
      if (refusals.length > 2 * refusalsKept) refusals.splice(0, refusalsKept);
    },
    [Symbol.dispose]() {
      clearInterval(reporting);
      reportNow();
    },
  };
}

function failureAfter(before: Outage | undefined, { cause, message }: Refusal): Outage {
  const atMs = steadyMs();
  const { sinceMs = atMs, refused = 0 } = before ?? {};
  return { reason: cause ?? message, sinceMs, untilMs: atMs, refused: refused + 1 };
}

function noted({ problem, message }: Refusal, exchange: Exchange, atMs: number) {
  const { number, address: client, observer } = exchange;
  return { atMs, number, problem, message, token: observer?.name ?? null, client };
}
