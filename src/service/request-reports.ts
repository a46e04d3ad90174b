import { type NewTally, Tally, type TokenCounts } from '../access/tally.ts';
import { type ProblemName, problems, type Refusal } from '../contract/problems.ts';
import { type Exchange, requestIdOf } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import type { RefusedRequest } from '../ops/contract.ts';
import { observedOf } from './observer.ts';

/** What an HTTP thread tells of its requests since its last report. */
export interface RequestReport {
  readonly tokens: readonly TokenCounts[];
  /** The last `limits.ops.refusalsKept`. */
  readonly refusals: readonly RefusedRequest[];
}

export interface RequestReporting extends Disposable {
  readonly newTally: NewTally;
  noteRefusal(refusal: Refusal, exchange: Exchange): void;
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
): RequestReporting {
  /** Bounded by the requests of a second. */
  const changed: Tally[] = [];
  const refusals = lastOf<Noted>(limits.ops.refusalsKept);

  function reportNow(): void {
    const tokens = changed.splice(0).map((tally) => tally.take());
    const refused = refusals.take().map(
      ({ atMs, number, problem, message, token = null, client }): RefusedRequest => ({
        at: new Date(atMs).toISOString(),
        requestId: requestIdOf(requestIdPrefix, number),
        code: problems[problem].code,
        message,
        token,
        client,
      }),
    );
    if (tokens.length + refused.length > 0) report({ tokens, refusals: refused });
  }

  const reporting = setInterval(reportNow, limits.ops.samplesEveryMs);
  return {
    newTally: (id, name) => new Tally(id, name, changed),
    noteRefusal({ problem, message }, exchange) {
      const { number, client } = exchange;
      const token = observedOf(exchange)?.sender.name;
      refusals.add({ atMs: now(), number, problem, message, token, client });
    },
    [Symbol.dispose]() {
      clearInterval(reporting);
      reportNow();
    },
  };
}

/** Keeps the last `max` entries until they are taken. */
function lastOf<Entry>(max: number) {
  let entries: Entry[] = [];
  let added = 0;
  return {
    add(entry: Entry): void {
      entries[added % max] = entry;
      added += 1;
    },
    /** In their order. */
    take(): Entry[] {
      const first = added > max ? added % max : 0;
      const taken = [...entries.slice(first), ...entries.slice(0, first)];
      entries = [];
      added = 0;
      return taken;
    },
  };
}
