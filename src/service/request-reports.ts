import { type RequestCounts, Tally } from '../access/tally.ts';
import { type ProblemName, problems, type Refusal } from '../contract/problems.ts';
import { type Exchange, requestIdOf } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import type { RefusedRequest } from '../ops/contract.ts';
import { observedOf } from './observer.ts';

/** What an HTTP thread tells of its requests since its last report. */
export interface RequestReport {
  readonly tokens: readonly RequestCounts[];
  /** The last `limits.ops.refusalsKept`. */
  readonly refusals: readonly RefusedRequest[];
}

/** Its texts are made once a second, for the refusals that are kept: a note takes 0.2 µs. */
interface Noted {
  readonly atMs: number;
  readonly number: number;
  readonly problem: ProblemName;
  readonly message: string;
  readonly token: string | undefined;
  readonly client: string;
}

/**
 * Counts by token and gathers the refusals on one thread, and reports both, once a second at most.
 *
 * @param now milliseconds since the epoch
 */
export function reportRequests(
  requestIdPrefix: string,
  now: () => number,
  report: (requests: RequestReport) => void,
) {
  const { refusalsKept } = limits.ops;
  /** Bounded by the requests of a second. */
  const changed: Tally[] = [];
  let refusals: Noted[] = [];

  function reportNow(): void {
    const tokens = changed.splice(0).map((tally) => tally.take());
    const refused = refusals.slice(-refusalsKept).map(
      ({ atMs, number, problem, message, token = null, client }): RefusedRequest => ({
        at: new Date(atMs).toISOString(),
        requestId: requestIdOf(requestIdPrefix, number),
        code: problems[problem].code,
        message,
        token,
        client,
      }),
    );
    refusals = [];
    if (tokens.length + refused.length > 0) report({ tokens, refusals: refused });
  }

  const reporting = setInterval(reportNow, limits.ops.samplesEveryMs);
  return {
    newTally: (id: number, name: string) => new Tally(id, name, changed),
    noteRefusal({ problem, message }: Refusal, exchange: Exchange): void {
      const { number, client } = exchange;
      const token = observedOf(exchange)?.sender.name;
      refusals.push({ atMs: now(), number, problem, message, token, client });
      if (refusals.length > 2 * refusalsKept) refusals.splice(0, refusalsKept);
    },
    [Symbol.dispose]() {
      clearInterval(reporting);
      reportNow();
    },
  };
}
