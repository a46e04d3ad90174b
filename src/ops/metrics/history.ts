import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { problemNames, problems } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import type { NodeMinute, RefusalsByCode } from '../../store/history.ts';
import { quantileSeconds, type SampleSources, type Totals, totalsOf } from './samples.ts';

const { minuteMs, lastWriteMs } = limits.history;

export interface RunningHistory extends AsyncDisposable {
  /** The minute that has begun, so far. */
  begun(): NodeMinute;
}

/**
 * Writes the figures of each minute of the clock into the store; at the end, also those of the
 * minute that has begun. A minute that cannot be written is lost: the heartbeat tells of the fault.
 */
export function startHistory(
  sources: SampleSources,
  record: (minute: NodeMinute) => Promise<void>,
): RunningHistory {
  const run = { node: randomBytes(8).readBigInt64BE(), startedAtMs: Date.now() };
  let minute = beginMinute(sources);

  const watching = setInterval(() => {
    noteMost(minute, sources);
    if (startOf(Date.now()) !== minute.atMs) void finish();
  }, limits.ops.samplesEveryMs);

  async function finish(): Promise<void> {
    const [ended, now] = [minute, totalsOf(sources)];
    minute = beginMinute(sources);
    // Without a write, the minute is missing in the history.
    await record({ ...run, ...figuresOf(ended, now) }).catch(() => undefined);
  }

  return {
    begun: () => ({ ...run, ...figuresOf(minute, totalsOf(sources)) }),
    async [Symbol.asyncDispose]() {
      clearInterval(watching);
      noteMost(minute, sources);
      await Promise.race([finish(), delay(lastWriteMs, undefined, { ref: false })]);
    },
  };
}

function startOf(ms: number): number {
  return Math.floor(ms / minuteMs) * minuteMs;
}

interface BegunMinute {
  readonly atMs: number;
  readonly before: Totals;
  queuePlants: number;
  connections: number;
}

function beginMinute(sources: SampleSources): BegunMinute {
  return {
    atMs: startOf(Date.now()),
    before: totalsOf(sources),
    queuePlants: 0,
    connections: 0,
  };
}

function noteMost(minute: BegunMinute, { queuePlants, connections }: SampleSources): void {
  minute.queuePlants = Math.max(minute.queuePlants, queuePlants());
  minute.connections = Math.max(minute.connections, connections());
}

function figuresOf(
  { before, atMs, queuePlants, connections }: BegunMinute,
  now: Totals,
): Omit<NodeMinute, 'node' | 'startedAtMs'> {
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
    refusals: refusalsSince(before, now),
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
    queuePlants,
    connections,
  };
}

function refusalsSince(before: Totals, now: Totals): RefusalsByCode {
  const counts = problemNames.map((name, index): [code: string, count: number] => [
    `${problems[name].code}`,
    (now.refusals[index] ?? 0) - (before.refusals[index] ?? 0),
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}
