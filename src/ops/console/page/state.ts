import type {
  BackupReply,
  Configuration,
  Credentials,
  Overview,
  RefusalList,
  RefusedRequest,
  Sample,
  SampleColumns,
  SampleList,
  Session,
  Setting,
  TokenList,
} from '../../contract.ts';

export type Ask = typeof ask;

const answerMs = 10_000;

/** Rejects with a sentence for the operator, whose cause is the status of the reply if any. */
async function ask<Reply>(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  { signal, body }: { readonly signal?: AbortSignal; readonly body?: object } = {},
): Promise<Reply> {
  const signals = [AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])];
  const headers = body ? { 'Content-Type': 'application/json' } : undefined;
  const request = { method, headers, body: JSON.stringify(body), signal: AbortSignal.any(signals) };
  const response = await fetch(`/api${path}`, request as RequestInit).catch(() => {
    signal?.throwIfAborted();
    throw new Error('The service does not answer.');
  });
  // A proxy may answer with a page of its own, and a 204 has no body.
  const reply: { message?: string } = await response.json().catch(() => ({}));
  if (response.ok) return reply as Reply;
  const { message = `The service has answered ${response.status}.` } = reply;
  const retrySeconds = response.headers.get('Retry-After');
  const wait = response.status === 429 ? ` Try again in ${retrySeconds} s.` : '';
  throw new Error(message + wait, { cause: response.status });
}

/** What is known of the service. Undefined: not yet. */
export interface State {
  readonly session:
    | 'unknown'
    | { readonly name: string; readonly notice: string }
    /** Why the operator has to sign in, empty at the first visit; and how. */
    | { readonly why: string; readonly how: string };
  readonly overview?: Overview | undefined;
  readonly samples: readonly Sample[];
  readonly refusals?: readonly RefusedRequest[] | undefined;
  readonly tokens?: TokenList | undefined;
  readonly backups?: BackupReply | undefined;
  readonly settings?: readonly Setting[] | undefined;
  /** What went wrong at the last reading. */
  readonly trouble?: Error | undefined;
  /** Whether even the overview was not answered. */
  readonly isAway?: boolean;
  /** The last time that all was read. */
  readonly readAtMs?: number;
}

export const nothing: State = { session: 'unknown', samples: [] };

export type Service = ReturnType<typeof openService>;

/** What a page shows. `query` is that of the fragment of the address. */
export interface PageProps {
  readonly service: Service;
  readonly state: State;
  readonly query: URLSearchParams;
}

const sessionEnded = 'Your session has ended. Sign in again to go on here.';
const everyMs = 2_000;
const doublingsMax = 4;

type Get = <Reply>(path: string) => Promise<Reply>;

interface Source {
  /** Polled in each so many rounds. */
  readonly rounds: number;
  read(state: State, get: Get): Promise<Partial<State>>;
}

function samplesOf(columns: SampleColumns): Sample[] {
  const all = Object.entries(columns);
  return columns.atMs.map((_, index) => {
    const members = all.map(([member, values]) => [member, values[index]]);
    return Object.fromEntries(members) as Sample;
  });
}

const sources = {
  overview: { rounds: 1, read: async (_, get) => ({ overview: await get('/overview') }) },
  samples: {
    rounds: 1,
    async read({ samples: known }, get) {
      const after = known.at(-1)?.atMs ?? 0;
      const { samples: columns, kept } = await get<SampleList>(`/samples?after=${after}`);
      const samples = samplesOf(columns);
      // All come again, and with earlier times, after the clock was set back.
      const { atMs: firstMs = after + 1 } = samples[0] ?? {};
      const before = known.filter(({ atMs }) => atMs < firstMs);
      return { samples: [...before, ...samples].slice(-kept) };
    },
  },
  refusals: {
    rounds: 1,
    async read({ refusals: known = [] }, get) {
      const after = known.at(-1)?.requestId ?? '';
      const path = `/refusals?${new URLSearchParams({ after })}`;
      const { refusals, kept } = await get<RefusalList>(path);
      return { refusals: [...known, ...refusals].slice(-kept) };
    },
  },
  tokens: { rounds: 5, read: async (_, get) => ({ tokens: await get('/tokens') }) },
  backups: { rounds: 1, read: async (_, get) => ({ backups: await get('/backups') }) },
  configuration: { rounds: 60, read: (_, get) => get<Configuration>('/configuration') },
} satisfies Record<string, Source>;

export type SourceName = keyof typeof sources;

/** Polls the service while the page is visible, less often while the service does not answer. */
export function openService(onChange: (state: State) => void) {
  let state = nothing;
  let shown: SourceName = 'overview';
  let round = 0;
  let failures = 0;
  let underWay = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function set(change: Partial<State>, before = state): void {
    state = { ...before, ...change };
    onChange(state);
  }

  const askInSession: Ask = (...request) =>
    ask<never>(...request).catch((error) => {
      endSession(error);
      throw error;
    });

  function endSession(error: Error): void {
    if (error.cause === 401 && isSignedIn())
      set({ session: { why: sessionEnded, how: error.message } }, nothing);
  }

  const isSignedIn = () => typeof state.session === 'object' && 'name' in state.session;

  async function poll(): Promise<void> {
    clearTimeout(timer);
    underWay.abort();
    if (!isSignedIn() || document.hidden) return;
    const { signal } = (underWay = new AbortController());
    const get: Get = (path) => ask('GET', path, { signal });
    const names = new Set<SourceName>(['overview', shown]);
    const due = [...names].map((name): Source => sources[name]);
    const reads = due
      .filter(({ rounds }) => round % rounds === 0)
      .map((source) => source.read(state, get));
    const read = await Promise.allSettled(reads);
    if (signal.aborted) return;
    const parts = read.map((part) => (part.status === 'fulfilled' ? part.value : {}));
    const trouble = read.find((part) => part.status === 'rejected')?.reason as Error | undefined;
    const isAway = read[0]?.status === 'rejected';
    const time = trouble ? {} : { readAtMs: Date.now() };
    failures = trouble ? Math.min(failures + 1, doublingsMax) : 0;
    set(Object.assign({ trouble, isAway, ...time }, ...parts));
    if (trouble) endSession(trouble);
    round = failures > 0 ? 0 : round + 1;
    timer = setTimeout(poll, everyMs * 2 ** failures);
  }

  function refresh(): void {
    round = 0;
    void poll();
  }

  function begin({ name }: Session, notice = ''): void {
    set({ session: { name, notice } });
    refresh();
  }

  document.addEventListener('visibilitychange', refresh);
  return {
    /** Polls the overview, and the source of the page that is shown. */
    show(source: SourceName): void {
      shown = source;
      refresh();
    },
    refresh,
    ask: askInSession,
    /** Finds out whether there is a session. @param notice shown in the session that there is */
    async resume(notice = ''): Promise<void> {
      try {
        begin(await ask<Session>('GET', '/session'), notice);
      } catch (error) {
        const { cause, message } = error as Error;
        if (cause === 401) return set({ session: { why: notice, how: message } }, nothing);
        set({ trouble: error as Error });
        setTimeout(() => void this.resume(notice), everyMs);
      }
    },
    async signIn(body: Credentials): Promise<void> {
      begin(await ask<Session>('POST', '/session', { body }));
    },
    async signOut(): Promise<void> {
      await askInSession('DELETE', '/session');
      return this.resume();
    },
  };
}
