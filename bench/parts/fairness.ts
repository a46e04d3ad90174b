/** Latency of creates beside a client that sends 20 times as many creates as its token may. */
import { connect } from 'node:net';
import { issueToken } from '../../src/access/issue-token.ts';
import { parseRate } from '../../src/access/rate-limit.ts';
import type { LoadResult } from '../generator/order.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { requestAroundId } from '../plant.ts';
import { withStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { startTarget } from '../target-process.ts';
import { runOnFreshStore } from '../target-run.ts';
import { rawResponder, targets } from '../targets.ts';
import { connectionsText, roundsText } from '../text.ts';

const goodConnections = 64;
const goodPerSecond = 4_000;
const limitedPerSecond = 100;
const timesTheRate = 20;
const floodConnections = 8;
const floodEveryMs = 2;
/** No other client has it. */
const floodId = '9999999999';

interface FairnessSettings extends Timing {}

interface Round {
  alone: LoadResult;
  /** Beside the same client, which sends to another server: so its own CPU time is in both. */
  besideOther: LoadResult;
  beside: LoadResult;
  /** Replies to the limited client in a second. */
  answeredPerSecond: number;
}

export interface FairnessPart {
  settings: FairnessSettings;
  rounds: Round[];
}

export async function measureFairness(
  settings: FairnessSettings,
  bench: Bench,
): Promise<FairnessPart> {
  const rounds = await measureRounds(settings.rounds, bench, () => measureRound(settings, bench));
  return { settings, rounds };
}

function measureRound(
  { warmupMs, measureMs }: FairnessSettings,
  { directory, progress }: Bench,
): Promise<Round> {
  const load = {
    connections: goodConnections,
    arrivalsPerSecond: goodPerSecond,
    warmupMs,
    measureMs,
  };
  return runOnFreshStore(targets.service, { directory }, async (running, store) => {
    const rate = parseRate(`${limitedPerSecond}/s`);
    const wish = { name: 'limited', role: 'create', validMs: undefined, rate } as const;
    const issued = await withStore(store, (opened) => issueToken(opened, wish, Date.now()));
    if ('refusal' in issued) throw new Error(issued.message);
    const alone = await running.load(load);
    const other = await startTarget(rawResponder, '');
    const elsewhere = startFlood(other.port, issued.token);
    const besideOther = await running.load(load);
    elsewhere.stop();
    await other.stop();
    const flood = startFlood(running.port, issued.token);
    const beside = await running.load(load);
    const answeredPerSecond = flood.stop();
    // Every create of the limited client is of one plant, which the store has once.
    store.plants += 1;
    progress(
      `  p99 ${alone.p99Ms.toFixed(2)} ms alone, ${beside.p99Ms.toFixed(2)} ms beside a limited client`,
    );
    return { alone, besideOther, beside, answeredPerSecond };
  });
}

/** @returns `stop`, which returns the replies in a second */
function startFlood(port: number, token: string) {
  const { head, tail } = requestAroundId(port, token, 'short');
  const request = `${head}${floodId}${tail}`;
  let replies = 0;
  const sockets = Array.from({ length: floodConnections }, () =>
    connect({ host: '127.0.0.1', port, noDelay: true }).on('data', (chunk: Buffer) => {
      replies += chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
    }),
  );
  const startedMs = performance.now();
  let sent = 0;
  const sending = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1_000) * limitedPerSecond * timesTheRate;
    for (; sent < due; sent += 1) sockets[sent % sockets.length]?.write(request);
  }, floodEveryMs);
  return {
    stop(): number {
      clearInterval(sending);
      for (const socket of sockets) socket.destroy();
      return replies / ((performance.now() - startedMs) / 1_000);
    },
  };
}

export function renderFairnessTables({ settings, rounds }: FairnessPart): string[] {
  const conditions = renderFacts({
    load: `open loop, ${connectionsText(goodConnections)}, ${goodPerSecond} creates/s without a rate`,
    beside: `${limitedPerSecond * timesTheRate} creates/s with a token of ${limitedPerSecond}/s`,
    rounds: roundsText(settings),
  });
  const latencies = renderSpreads(
    'the client without a rate',
    [
      ['alone', rounds.map(({ alone }) => alone)],
      ['beside a client of another server', rounds.map(({ besideOther }) => besideOther)],
      ['beside the limited client', rounds.map(({ beside }) => beside)],
    ],
    [
      ['answers/s', 0, (load) => load.createsPerSecond],
      ['p50 ms', 2, (load) => load.p50Ms],
      ['p99 ms', 2, (load) => load.p99Ms],
      ['max ms', 2, (load) => load.maxMs],
    ],
  );
  const limited = renderSpreads(
    'the limited client',
    [['its replies', rounds]],
    [['replies/s', 0, (round) => round.answeredPerSecond]],
  );
  return [conditions, latencies, limited];
}
