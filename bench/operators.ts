/** What asks the operators' port: probes and scrapes, and operators with the console open. */
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../src/limits.ts';

/** What the next request needs of the last reply. */
interface Last {
  next?: string | null;
  samples?: readonly { atMs: number }[];
  minutes?: readonly { atMs: number }[];
}
type Poll = readonly [path: (last: Last) => string, everyMs: number];

/** What an operator has open, in turn: the requests of the page, and the pause after each reply. */
const pages: readonly Poll[][] = [
  [[({ samples }) => `api/samples?after=${samples?.at(-1)?.atMs ?? 0}`, limits.ops.samplesEveryMs]],
  [[() => 'api/plants?order=newest&limit=50', 5_000]],
  [[({ next }) => `api/requests?creates=true&limit=1000&after=${next ?? ''}`, 1_000]],
  [[() => 'api/tokens', 10_000]],
  [[({ minutes }) => `api/history?after=${minutes?.at(-3)?.atMs ?? 0}`, 10_000]],
  [[() => 'api/backups', 2_000]],
];
/** Every page shows whether the service is ready. */
const onEachPage: readonly Poll[] = [[() => 'api/overview', 2_000]];

/** What a load balancer and Prometheus ask of a service in production. */
const watching: readonly Poll[] = [
  [() => 'readyz', 2_000],
  [() => 'metrics', 5_000],
];

interface Asking {
  /** Resolves when the requests under way have ended. Rejects if a reply was no success. */
  stop(): Promise<void>;
}

/** Signs in, and lets `count` operators look at the pages, an equal number at each. */
export async function startOperators(
  origin: string,
  token: string,
  count: number,
): Promise<Asking> {
  const polls = Array.from({ length: count }, (_, operator) => [
    ...onEachPage,
    ...(pages[operator % pages.length] ?? []),
  ]);
  return startPolls(origin, polls.flat(), { cookie: await signIn(origin, token) });
}

export function startWatching(origin: string): Asking {
  return startPolls(origin, watching, {});
}

function startPolls(
  origin: string,
  polls: readonly Poll[],
  headers: Readonly<Record<string, string>>,
): Asking {
  const stopping = new AbortController();
  async function ask(path: string): Promise<Last> {
    const reply = await fetch(`${origin}/${path}`, { headers });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`GET /${path} was answered ${reply.status}: ${text}`);
    return reply.headers.get('Content-Type')?.startsWith('application/json')
      ? JSON.parse(text)
      : {};
  }
  async function poll([path, everyMs]: Poll): Promise<void> {
    for (let last: Last = {}; !stopping.signal.aborted; ) {
      last = await ask(path(last));
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  const ended = Promise.all(polls.map(poll));
  ended.catch(() => undefined); // `stop` reports it
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function signIn(origin: string, token: string): Promise<string> {
  const reply = await fetch(`${origin}/api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (!reply.ok) throw new Error(`the sign-in was answered ${reply.status}`);
  return reply.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}
