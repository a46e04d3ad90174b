import type { ProblemName } from '../contract/problems.ts';
import { limits } from '../limits.ts';

/** What an HTTP thread remembers of a request. */
export interface RecentRequest {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly requestId: string;
  /** The problem of a refusal. */
  readonly outcome: ProblemName | 'created' | 'same';
  /** Of a refusal, as it was sent. */
  readonly message: string;
  /** IP address; empty if the connection was closed. */
  readonly client: string;
  /** Name of the token or the subject, if it is known. */
  readonly sender: string | undefined;
  /** Of a token that was refused. */
  readonly tokenHash: Uint8Array | undefined;
  /** As in `RequestHead`. */
  readonly line: string;
}

/** The requests that a thread is asked for: those after the first so many of its own. */
export interface RequestsWanted {
  readonly refusalsAfter: number;
  readonly createsAfter: number;
  /** The thread is to remember creates for some time. */
  readonly watchesCreates: boolean;
}

/** What a thread remembers, in its order, and how many requests it has noted since its start. */
export interface RequestsOfThread {
  readonly refusals: readonly RecentRequest[];
  readonly refusalsMade: number;
  readonly creates: readonly RecentRequest[];
  readonly createsMade: number;
}

type Recall = (wanted: RequestsWanted) => Promise<RequestsOfThread>;

/** The last requests of all threads, oldest first. */
export interface RequestLog {
  readonly kept: readonly RecentRequest[];
  /** Requests that were noted since the start. The last of them is the last of `kept`. */
  readonly made: number;
}

export interface RecentRequests {
  /**
   * Asks the threads. A thread that does not answer within `limits.ops.requestsMs` is left
   * out until the next time.
   *
   * @param watchesCreates threads remember a sample of the creates for as long as they are asked
   */
  read(watchesCreates: boolean): Promise<Record<'refusals' | 'creates', RequestLog>>;
}

/** Fills in the senders of requests with a refused token. */
type NameSenders = (requests: readonly RecentRequest[]) => Promise<readonly RecentRequest[]>;

/** Merges what the HTTP threads remember. Costs nothing while nobody reads. */
export function openRecentRequests(
  recalls: readonly Recall[],
  nameSenders: NameSenders,
): RecentRequests {
  const threads = recalls.map((recall) => ({ recall, refusalsAfter: 0, createsAfter: 0 }));
  const refusals = new MergedLog(limits.ops.refusalsKept);
  const creates = new MergedLog(limits.ops.createsKept);
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  let watchesCreates = false;

  async function gather(): Promise<void> {
    const wanted = { watchesCreates };
    next = undefined;
    watchesCreates = false;
    const answers = await Promise.all(
      threads.map(async (thread) => {
        const { recall, ...after } = thread;
        const answer = await inTime(recall({ ...after, ...wanted }));
        if (answer === undefined) return { refusals: nothing, creates: nothing };
        thread.refusalsAfter = answer.refusalsMade;
        thread.createsAfter = answer.createsMade;
        return {
          refusals: { of: answer.refusals, made: answer.refusalsMade - after.refusalsAfter },
          creates: { of: answer.creates, made: answer.createsMade - after.createsAfter },
        };
      }),
    );
    const refused = merged(answers.map((answer) => answer.refusals));
    refusals.add({ ...refused, of: await nameSenders(refused.of) });
    creates.add(merged(answers.map((answer) => answer.creates)));
  }

  return {
    async read(watches) {
      watchesCreates ||= watches;
      // Readers that come while the threads are asked share the next round.
      next ??= last.then(gather);
      last = next;
      await last;
      return { refusals, creates };
    },
  };
}

class MergedLog implements RequestLog {
  kept: readonly RecentRequest[] = [];
  made = 0;
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** The order of the rounds stays, also if the clock was set back. */
  add({ of, made }: Addition): void {
    this.made += made;
    this.kept = [...this.kept, ...of].slice(-this.max);
  }
}

/** So many requests, of which the last ones are told. */
interface Addition {
  readonly of: readonly RecentRequest[];
  readonly made: number;
}

const nothing: Addition = { of: [], made: 0 };

/** What all threads add in a round, by time. */
function merged(additions: readonly Addition[]): Addition {
  // An answer that comes too late may tell again what an earlier answer has told.
  const added = additions.flatMap(({ of, made }) => of.slice(Math.max(0, of.length - made)));
  return {
    of: added.sort((one, other) => one.atMs - other.atMs),
    made: additions.reduce((sum, { made }) => sum + made, 0),
  };
}

/** A thread is busy, or has ended. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, limits.ops.requestsMs, undefined);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
