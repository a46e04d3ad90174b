/** What ten operators with the console open cost a service under full load, and at rest. */
import { setTimeout as sleep } from 'node:timers/promises';
import { issueToken } from '../../src/access/issue-token.ts';
import { reservePort } from '../../src/service/reserve-port.ts';
import type { LoadResult } from '../generator/order.ts';
import { startOperators, startWatching } from '../operators.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { cpuUs, rssBytes } from '../process-stats.ts';
import { difference, median, ratio, type Spread, spread } from '../statistics.ts';
import { withStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { runOnFreshStore, type TargetUnderLoad } from '../target-run.ts';
import { serviceWithConsole } from '../targets.ts';
import {
  connectionsText,
  durationText,
  fullLoadConnections,
  numberText,
  roundsText,
} from '../text.ts';

const operatorsAtWork = 10;
const rssEveryMs = 250;

interface Measured extends LoadResult {
  /** The median of the load. Null without Linux. */
  rssBytes: number | null;
}

interface ConsoleSettings extends Timing {
  /** Pairs of turns in a round, and the time of each turn. */
  turns: number;
  turnMs: number;
  /** Time at rest, with operators and without. */
  restMs: number;
}

/** What is asked of the operators' port: nothing; probes and scrapes, as in production; operators, too. */
const names = ['alone', 'watched', 'beside'] as const;
type Name = (typeof names)[number];

/** Both loads of one process, one right after the other. */
type Pair = Record<'watched' | 'beside', LoadResult>;

/** Of one process. */
interface Rates {
  pairs: Pair[];
  /** CPU time of the service after the loads, in milliseconds a second. Null without Linux. */
  atRest: Record<'watched' | 'beside', number | null>;
}

interface Round extends Record<Name, Measured>, Rates {}

export interface ConsolePart {
  settings: ConsoleSettings;
  rounds: Round[];
}

/**
 * A round has a process for each memory, in the one order or in the other, and a process for the
 * rates: a process has a speed of its own, and the speed of the machine changes within seconds.
 */
export async function measureConsole(
  settings: ConsoleSettings,
  bench: Bench,
): Promise<ConsolePart> {
  let isAloneFirst = false;
  const rounds = await measureRounds(settings.rounds, bench, async () => {
    isAloneFirst = !isAloneFirst;
    const round: Partial<Round> = {};
    for (const name of isAloneFirst ? names : names.toReversed())
      round[name] = await measureMemory(name, settings, bench);
    return { ...round, ...(await measureRates(settings, bench)) } as Round;
  });
  return { settings, rounds };
}

interface Asked {
  origin: string;
  /** Of an operator. */
  token: string;
}

async function withService<T>(
  { directory }: Bench,
  use: (running: TargetUnderLoad, asked: Asked) => Promise<T>,
): Promise<T> {
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
    return use(running, { origin: `http://127.0.0.1:${opsPort}`, token: issued.token });
  });
}

function measureMemory(
  name: Name,
  { warmupMs, measureMs }: ConsoleSettings,
  bench: Bench,
): Promise<Measured> {
  return withService(bench, async (running, { origin, token }) => {
    const watch = name === 'alone' ? undefined : startWatching(origin);
    const operators =
      name === 'beside' ? await startOperators(origin, token, operatorsAtWork) : undefined;
    const sizes: (number | null)[] = [];
    const sampling = setInterval(() => sizes.push(rssBytes(running.pid)), rssEveryMs);
    const result = await running.load({ connections: fullLoadConnections, warmupMs, measureMs });
    clearInterval(sampling);
    await Promise.all([watch?.stop(), operators?.stop()]);
    const rss = median(sizes);
    bench.progress(`  ${name}: ${numberText(rss / 1e6, 0)} MB`);
    return { ...result, rssBytes: Number.isNaN(rss) ? null : rss };
  });
}

/**
 * The rates are what counts, and on a shared machine they differ by more than the console costs. The
 * CPU time at rest does not depend on the speed of the disk and of the clients.
 */
function measureRates(settings: ConsoleSettings, bench: Bench): Promise<Rates> {
  const { warmupMs, turns, turnMs, restMs } = settings;
  return withService(bench, async (running, { origin, token }) => {
    const watch = startWatching(origin);
    const turn = { connections: fullLoadConnections, warmupMs: turnMs / 4, measureMs: turnMs };
    async function besideOperators<T>(measure: () => Promise<T>): Promise<T> {
      const operators = await startOperators(origin, token, operatorsAtWork);
      const result = await measure();
      await operators.stop();
      return result;
    }
    const loads = {
      watched: () => running.load(turn),
      beside: () => besideOperators(() => running.load(turn)),
    };
    await running.load({ ...turn, warmupMs });
    let areOperatorsFirst = false;
    const pairs = await Array.fromAsync({ length: turns }, async () => {
      areOperatorsFirst = !areOperatorsFirst;
      if (!areOperatorsFirst)
        return { watched: await loads.watched(), beside: await loads.beside() };
      const beside = await loads.beside();
      return { watched: await loads.watched(), beside };
    });
    const used = async () => {
      await sleep(restMs / 4);
      return cpuMsPerSecond(running.pid, restMs);
    };
    const atRest = { watched: await used(), beside: await besideOperators(used) };
    await watch.stop();
    const [watched, beside] = [rateOf(pairs, 'watched'), rateOf(pairs, 'beside')];
    bench.progress(`  ${Math.round(watched)} creates/s, ${Math.round(beside)} beside operators`);
    return { pairs, atRest };
  });
}

async function cpuMsPerSecond(pid: number, ms: number): Promise<number | null> {
  const [startUs, startMs] = [cpuUs(pid), performance.now()];
  await sleep(ms);
  const [endUs, endMs] = [cpuUs(pid), performance.now()];
  return ratio(difference(endUs, startUs), endMs - startMs);
}

/** The mean over all turns, in creates/s. */
function rateOf(pairs: readonly Pair[], name: keyof Pair): number {
  return pairs.reduce((sum, pair) => sum + pair[name].createsPerSecond, 0) / pairs.length;
}

async function freePort(): Promise<number> {
  await using reserved = await reservePort('127.0.0.1', 0);
  return reserved.port;
}

export function rateRatio({ rounds }: ConsolePart): Spread | null {
  return spread(
    rounds.map(({ pairs }) => ratio(rateOf(pairs, 'beside'), rateOf(pairs, 'watched'))),
  );
}

/** In megabytes. */
export function addedRss({ rounds }: ConsolePart, without: Exclude<Name, 'beside'>): Spread | null {
  return spread(
    rounds.map((round) => ratio(difference(round.beside.rssBytes, round[without].rssBytes), 1e6)),
  );
}

/** In milliseconds a second. */
export function addedCpu({ rounds }: ConsolePart): Spread | null {
  return spread(rounds.map(({ atRest }) => difference(atRest.beside, atRest.watched)));
}

export function renderConsoleTables({ settings, rounds }: ConsolePart): string[] {
  const conditions = renderFacts({
    load: `closed loop, ${connectionsText(fullLoadConnections)}`,
    operators: `${operatorsAtWork}, whose pages ask as the console does`,
    memory: `${roundsText(settings)}, each in a process of its own`,
    rates: `${settings.rounds * settings.turns} pairs of ${durationText(settings.turnMs)}, with and without operators in turn, ${settings.turns} in a process`,
  });
  const memory = renderSpreads(
    'the service',
    [
      ['alone', rounds.map(({ alone }) => alone)],
      ['with probes and scrapes', rounds.map(({ watched }) => watched)],
      ['with operators, too', rounds.map(({ beside }) => beside)],
    ],
    [['RSS MB', 1, (load) => load.rssBytes, 1e6]],
  );
  const pairs = rounds.flatMap((round) => round.pairs);
  const rates = renderSpreads(
    'the service',
    [
      ['with probes and scrapes', pairs.map(({ watched }) => watched)],
      ['with operators, too', pairs.map(({ beside }) => beside)],
    ],
    [
      ['creates/s', 0, (load) => load.createsPerSecond],
      ['p99 ms', 2, (load) => load.p99Ms],
      ['CPU µs', 2, (load) => load.cpuUsPerCreate],
    ],
  );
  const rest = renderSpreads(
    'the service at rest',
    [
      ['with probes and scrapes', rounds.map(({ atRest }) => atRest.watched)],
      ['with operators, too', rounds.map(({ atRest }) => atRest.beside)],
    ],
    [['CPU ms/s', 1, (used) => used]],
  );
  return [conditions, memory, rates, rest];
}
