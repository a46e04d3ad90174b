import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { problemNames, problems } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { type Counts, type NodeMinute, senderKey, senderOf } from '../../store/history.ts';
import { otherTokens } from '../../store/tokens.ts';
import { quantileSeconds, type SampleSources, type Totals, totalsOf } from './samples.ts';

const { minuteMs, lastWriteMs, sendersMax } = limits.history;

export interface HistorySources extends SampleSources {
  /** Refusals since the start, by `senderKey`. */
  readonly refusedSenders: () => ReadonlyMap<string, number>;
}

export interface RunningHistory extends AsyncDisposable {
  /** The minute that has begun, so far. */
  begun(): NodeMinute;
}

/**
 * Writes the figures of each minute of the clock into the store; at the end, also those of the
 * minute that has begun. A minute that cannot be written is lost: the heartbeat tells of the fault.
 */
export function startHistory(
  sources: HistorySources,
  record: (minute: NodeMinute) => Promise<void>,
): RunningHistory {
  const run = { node: randomBytes(8).readBigInt64BE(), startedAtMs: Date.now() };
  let minute = beginMinute(sources);

  const figuresSoFar = () => figuresOf(minute, totalsOf(sources), sources.refusedSenders());

  const watching = setInterval(() => {
    noteMost(minute, sources);
    if (startOf(Date.now()) !== minute.atMs) void finish();
  }, limits.ops.samplesEveryMs);

  async function finish(stoppedAtMs = 0): Promise<void> {
    const ended = figuresSoFar();
    minute = beginMinute(sources);
    // Without a write, the minute is missing in the history.
    await record({ ...run, ...ended, stoppedAtMs }).catch(() => undefined);
  }

  return {
    begun: () => ({ ...run, ...figuresSoFar(), stoppedAtMs: 0 }),
    async [Symbol.asyncDispose]() {
      clearInterval(watching);
      noteMost(minute, sources);
      await Promise.race([finish(Date.now()), delay(lastWriteMs, undefined, { ref: false })]);
    },
  };
}

function startOf(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs;
}

interface BegunMinute {
  readonly atMs: number;
  readonly before: Totals;
  readonly sendersBefore: ReadonlyMap<string, number>;
  queuePlants: number;
  connections: number;
}

function beginMinute(sources: HistorySources): BegunMinute {
  return {
    atMs: startOf(Date.now()),
    before: totalsOf(sources),
    sendersBefore: sources.refusedSenders(),
    queuePlants: 0,
    connections: 0,
  };
}

function noteMost(minute: BegunMinute, { queuePlants, connections }: SampleSources): void {
  minute.queuePlants = Math.max(minute.queuePlants, queuePlants());
  minute.connections = Math.max(minute.connections, connections());
}

function figuresOf(
  { before, sendersBefore, atMs, queuePlants, connections }: BegunMinute,
  now: Totals,
  sendersNow: ReadonlyMap<string, number>,
): Omit<NodeMinute, 'node' | 'startedAtMs' | 'stoppedAtMs'> {
  const sum = (name: 'created' | 'same' | 'taken' | 'failed' | 'refused') =>
    Math.max(0, now[name] - before[name]);
  const quantileUs = (share: number) => {
    const seconds = quantileSeconds(now, before, share);
    return seconds === undefined ? undefined : Math.round(seconds * 1e6);
  };
  return {
    atMs,
    created: sum('created'),
    same: sum('same'),
    taken: sum('taken'),
    failed: sum('failed'),
    refused: sum('refused'),
    refusals: Object.fromEntries(countsSince(before.refusals, now.refusals)),
    refusedSenders: {
      ...sendersSince(sendersBefore, sendersNow),
      ...Object.fromEntries(
        countsSince(before.anonymousRefusals, now.anonymousRefusals).map(([code, count]) => [
          senderKey('', code),
          count,
        ]),
      ),
    },
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
    queuePlants,
    connections,
  };
}

/** By error code, without those that are 0. @param before by problem, in the order of the catalogue */
function countsSince(before: readonly number[], now: readonly number[]) {
  return problemNames
    .map((name, index) => [problems[name].code, (now[index] ?? 0) - (before[index] ?? 0)] as const)
    .filter(([, count]) => count > 0);
}

/** A token that has made room in the table of figures begins again at 0. */
function sendersSince(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): Counts {
  const counts = Array.from(now, ([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  const mostFirst = counts
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  const sums = new Map(mostFirst.slice(0, sendersMax));
  for (const [key, count] of mostFirst.slice(sendersMax)) {
    const { code } = senderOf(key);
    const others = senderKey(otherTokens, Number(code));
    sums.set(others, (sums.get(others) ?? 0) + count);
  }
  return Object.fromEntries(sums);
}
