import type { ProblemName } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { FairLog, type Placed } from './fair-log.ts';

/** What an HTTP thread remembers of a request. */
export interface RecentRequest {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly requestId: string;
  /** The problem of a refusal. */
  readonly outcome: ProblemName | 'created' | 'same';
  /** Of a refusal, as it was sent. */
  readonly message: string;
  /** Why the service has failed, at most `limits.ops.causeCharsMax` characters and `…`. */
  readonly cause: string | undefined;
  /** IP address; empty if the connection was closed. */
  readonly client: string;
  /** Name of the token or the subject, if it is known. */
  readonly sender: string | undefined;
  /** As in `RequestHead`. */
  readonly line: string;
}

/**
 * Refusals of known senders, also with a revoked or expired token, of all others, and accepted
 * creates. Each kind is remembered by itself: senders without a token cannot make the service forget
 * the refusals of its clients.
 */
export const requestKinds = ['known', 'unknown', 'creates'] as const;
export type RequestKind = (typeof requestKinds)[number];
export type ByKind<Value> = Readonly<Record<RequestKind, Value>>;

export function byKind<Value>(make: (kind: RequestKind) => Value): ByKind<Value> {
  const entries = requestKinds.map((kind) => [kind, make(kind)] as const);
  return Object.fromEntries(entries) as Record<RequestKind, Value>;
}

/** How many requests of a kind are remembered. */
export function keptOf(kind: RequestKind): number {
  return kind === 'creates' ? limits.ops.createsKept : limits.ops.refusalsKept;
}

/** A flood of one client, or of one error of a client, leaves the others their shares of the memory. */
export function ownerOf({
  outcome,
  sender,
  client,
}: Pick<RecentRequest, 'outcome' | 'sender' | 'client'>): string {
  return `${outcome} ${sender ?? client}`;
}

/** What a thread is asked for. */
export interface RequestsWanted {
  /** Of each kind, the requests after the first so many of the thread. */
  readonly after: ByKind<number>;
  /** The thread is to remember creates for some time. */
  readonly watchesCreates: boolean;
}

/** Requests in their order, and how many there were since the start of the thread. */
export interface ToldRequests {
  readonly requests: readonly Placed<RecentRequest>[];
  readonly made: number;
}

export type RequestsOfThread = ByKind<ToldRequests>;

type Recall = (wanted: RequestsWanted) => Promise<RequestsOfThread>;

/** The last requests of all threads. */
export type RequestLog = Pick<FairLog<RecentRequest>, 'made' | 'after'>;

export interface RecentRequests {
  /**
   * Asks the threads. A thread that does not answer within `limits.ops.requestsMs` is left out
   * until the next time.
   *
   * @param watchesCreates threads remember a sample of the creates for as long as they are asked
   */
  read(watchesCreates: boolean): Promise<ByKind<RequestLog>>;
}

/** Merges what the HTTP threads remember. Costs nothing between reads. */
export function openRecentRequests(recalls: readonly Recall[]): RecentRequests {
  const threads = recalls.map((recall) => ({
    recall,
    after: byKind(() => 0),
  }));
  const logs = byKind((kind) => new FairLog<RecentRequest>(keptOf(kind)));
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  let watchesCreates = false;

  async function ask(thread: (typeof threads)[number], watches: boolean): Promise<ByKind<News>> {
    const { recall, after } = thread;
    const told = await inTime(recall({ after, watchesCreates: watches }));
    if (told === undefined) return byKind(() => noNews);
    thread.after = byKind((kind) => told[kind].made);
    return byKind((kind) => newsIn(told[kind], after[kind]));
  }

  async function gather(): Promise<void> {
    const watches = watchesCreates;
    next = undefined;
    watchesCreates = false;
    const answers = await Promise.all(threads.map((thread) => ask(thread, watches)));
    for (const kind of requestKinds)
      addTo(logs[kind], merged(answers.map((answer) => answer[kind])));
  }

  return {
    async read(watches) {
      watchesCreates ||= watches;
      // Readers that come while the threads are asked share the next round.
      next ??= last.then(gather);
      last = next;
      await last;
      return logs;
    },
  };
}

/** The order of the rounds stays, also if the clock was set back. */
function addTo(log: FairLog<RecentRequest>, { requests, count }: News): void {
  log.skip(count - requests.length);
  for (const request of requests) log.add(ownerOf(request), request);
}

/** So many new requests, of which the thread has told those that it remembers. */
interface News {
  readonly requests: readonly RecentRequest[];
  readonly count: number;
}

const noNews: News = { requests: [], count: 0 };

/** An answer that comes too late may tell again what an earlier answer has told. */
function newsIn({ requests, made }: ToldRequests, after: number): News {
  return {
    requests: requests.filter(({ place }) => place > after).map(({ entry }) => entry),
    count: made - after,
  };
}

/** The news of all threads, by time. */
function merged(all: readonly News[]): News {
  return {
    requests: all.flatMap((news) => news.requests).sort((one, other) => one.atMs - other.atMs),
    count: all.reduce((sum, news) => sum + news.count, 0),
  };
}

/** A thread is busy, or has ended. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, limits.ops.requestsMs, undefined);
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
