/** What ten operators with the console open cost a service under full load. */
import { issueToken } from '../../src/access/issue-token.ts';
import { reservePort } from '../../src/service/reserve-port.ts';
import type { LoadResult } from '../generator/order.ts';
import { startOperators, startWatching } from '../operators.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { rssBytes } from '../process-stats.ts';
import { difference, median, ratio, type Spread, spread } from '../statistics.ts';
import { withStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { runOnFreshStore } from '../target-run.ts';
import { serviceWithConsole } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText, roundsText } from '../text.ts';

const operatorsAtWork = 10;
const rssEveryMs = 250;

interface Measured extends LoadResult {
  /** The median of the load. Null without Linux. */
  rssBytes: number | null;
}

interface Round {
  /** Without a request to the operators' port. */
  alone: Measured;
  /** With probes and scrapes, as in production. */
  watched: Measured;
  /** With operators, too. */
  beside: Measured;
}

export interface ConsolePart {
  settings: Timing;
  rounds: Round[];
}

/** Each round has three processes, in the one order or in the other. */
export async function measureConsole(settings: Timing, bench: Bench): Promise<ConsolePart> {
  let isAloneFirst = false;
  const rounds = await measureRounds(settings.rounds, bench, async () => {
    isAloneFirst = !isAloneFirst;
    const round: Partial<Round> = {};
    for (const name of isAloneFirst ? names : names.toReversed())
      round[name] = await measureService(name, settings, bench);
    return round as Round;
  });
  return { settings, rounds };
}

const names = ['alone', 'watched', 'beside'] as const;

async function measureService(
  name: keyof Round,
  { warmupMs, measureMs }: Timing,
  { directory, progress }: Bench,
): Promise<Measured> {
  const opsPort = await freePort();
  return runOnFreshStore(serviceWithConsole(opsPort), { directory }, async (running, store) => {
    const wish = {
      name: 'operator',
      role: 'operate',
      validMs: undefined,
      rate: undefined,
    } as const;
    const issued = await withStore(store, (opened) => issueToken(opened, wish, Date.now()));
    if ('refusal' in issued) throw new Error(issued.message);
    const origin = `http://127.0.0.1:${opsPort}`;
    const watch = name === 'alone' ? undefined : startWatching(origin);
    const operators =
      name === 'beside' ? await startOperators(origin, issued.token, operatorsAtWork) : undefined;
    const sizes: (number | null)[] = [];
    const sampling = setInterval(() => sizes.push(rssBytes(running.pid)), rssEveryMs);
    const result = await running.load({ connections: fullLoadConnections, warmupMs, measureMs });
    clearInterval(sampling);
    await Promise.all([watch?.stop(), operators?.stop()]);
    const rss = median(sizes);
    progress(
      `  ${name}: ${Math.round(result.createsPerSecond)} creates/s, ${numberText(rss / 1e6, 0)} MB`,
    );
    return { ...result, rssBytes: Number.isNaN(rss) ? null : rss };
  });
}

async function freePort(): Promise<number> {
  await using reserved = await reservePort('127.0.0.1', 0);
  return reserved.port;
}

type Without = 'alone' | 'watched';

export function rateRatio({ rounds }: ConsolePart, without: Without): Spread | null {
  return spread(
    rounds.map((round) => ratio(round.beside.createsPerSecond, round[without].createsPerSecond)),
  );
}

/** In megabytes. */
export function addedRss({ rounds }: ConsolePart, without: Without): Spread | null {
  return spread(
    rounds.map((round) => ratio(difference(round.beside.rssBytes, round[without].rssBytes), 1e6)),
  );
}

export function renderConsoleTables({ settings, rounds }: ConsolePart): string[] {
  const conditions = renderFacts({
    load: `closed loop, ${connectionsText(fullLoadConnections)}`,
    operators: `${operatorsAtWork}, whose pages ask as the console does`,
    rounds: roundsText(settings),
  });
  const table = renderSpreads(
    'the service',
    [
      ['alone', rounds.map(({ alone }) => alone)],
      ['with probes and scrapes', rounds.map(({ watched }) => watched)],
      ['with operators, too', rounds.map(({ beside }) => beside)],
    ],
    [
      ['creates/s', 0, (load) => load.createsPerSecond],
      ['p99 ms', 2, (load) => load.p99Ms],
      ['RSS MB', 1, (load) => load.rssBytes, 1e6],
    ],
  );
  return [conditions, table];
}
