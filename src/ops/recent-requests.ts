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
  /** Ids of requests whose traces are wanted. */
  readonly traced: readonly string[];
}

/** What is left of a refusal when its message is forgotten. */
export type TracedRefusal = Pick<RecentRequest, 'atMs' | 'sender'> & {
  readonly problem: ProblemName;
};

/** What the thread whose requests have ids that begin alike knows of a request. */
export interface RequestTrace {
  /** Whether the thread has given this id to a request. */
  readonly isGiven: boolean;
  /** Undefined: the thread remembers no refusal of the request. */
  readonly refusal: TracedRefusal | undefined;
  /** Whether the thread would remember a refusal. */
  readonly isCertain: boolean;
  /**
   * When the refused requests before and after this one were refused, in milliseconds since the
   * epoch; infinite without such a request.
   */
  readonly afterMs: number;
  readonly beforeMs: number;
}

/** Requests in their order, and how many there were since the start of the thread. */
export interface ToldRequests {
  readonly requests: readonly Placed<RecentRequest>[];
  readonly made: number;
}

export type RequestsOfThread = ByKind<ToldRequests> & {
  /** By request id, of the requests that are the thread's own. */
  readonly traces: ReadonlyMap<string, RequestTrace>;
};

type Recall = (wanted: RequestsWanted) => Promise<RequestsOfThread>;

/** The last requests of all threads. */
export type RequestLog = Pick<FairLog<RecentRequest>, 'made' | 'after'>;

export interface RecentRequests {
  /**
   * Asks the threads. A thread that does not answer within `limits.ops.requestsMs` is left out
   * until the next time.
   */
  read(): Promise<ByKind<RequestLog>>;
  /**
   * @returns undefined if the ids of no thread begin alike: another node has answered the request, or
   * this service before its last start
   */
  traceOf(requestId: string): Promise<RequestTrace | undefined>;
}

/** Merges what the HTTP threads remember. Costs nothing between reads. */
export function openRecentRequests(recalls: readonly Recall[]): RecentRequests {
  const threads = recalls.map((recall) => ({
    recall,
    after: byKind(() => 0),
  }));
  const logs = byKind((kind) => new FairLog<RecentRequest>(keptOf(kind)));
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Traces> | undefined;
  const traced = new Set<string>();

  async function ask(
    thread: (typeof threads)[number],
    ids: readonly string[],
  ): Promise<ByKind<News> & { readonly traces: Traces }> {
    const { recall, after } = thread;
    const told = await inTime(recall({ after, traced: ids }));
    if (told === undefined) return { ...byKind(() => noNews), traces: new Map() };
    thread.after = byKind((kind) => told[kind].made);
    return { ...byKind((kind) => newsIn(told[kind], after[kind])), traces: told.traces };
  }

  async function gather(): Promise<Traces> {
    const ids = [...traced];
    next = undefined;
    traced.clear();
    const answers = await Promise.all(threads.map((thread) => ask(thread, ids)));
    for (const kind of requestKinds)
      addTo(logs[kind], merged(answers.map((answer) => answer[kind])));
    return new Map(answers.flatMap(({ traces }) => [...traces]));
  }

  /** Readers that come while the threads are asked share the next round. */
  function round(): Promise<Traces> {
    next ??= last.then(gather);
    last = next;
    return next;
  }

  return {
    async read() {
      await round();
      return logs;
    },
    async traceOf(requestId) {
      traced.add(requestId);
      return (await round()).get(requestId);
    },
  };
}

type Traces = RequestsOfThread['traces'];

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
