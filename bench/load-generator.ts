/**
 * `node load-generator.ts LOAD_ORDER_JSON` puts one target under one load, and prints the result as
 * JSON. A process of its own, so that its CPU time is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../src/prove/fdatasync.ts';
import { runClosedLoop } from './generator/closed-loop.ts';
import { runOpenLoop } from './generator/open-loop.ts';
import type { LoadOrder, LoadResult, Times } from './generator/order.ts';
import { startTally, type Tally } from './generator/tally.ts';
import {
  cpuByRole,
  cpuUs,
  cpuUsWithChildren,
  rssPeakBytes,
  threadsOf,
  waitedForCoreUs,
} from './process-stats.ts';
import { difference, ratio } from './statistics.ts';

export type { LoadOrder, LoadResult };

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await generateLoad(order)));

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const tally = startTally(order.ids ?? 'short', order.firstId);
  // Creates under way at the end are finished, so that the store holds exactly the acknowledged.
  const [clocks] = await Promise.all([measure(order, tally), runLoop(order, tally)]);
  return {
    ...describeLoad(tally, clocks),
    rssPeakBytes: total(order.targetPids.map(rssPeakBytes)),
  };
}

function runLoop(order: LoadOrder, tally: Tally): Promise<void> {
  const { arrivalsPerSecond } = order;
  return arrivalsPerSecond === undefined
    ? runClosedLoop(order, tally)
    : runOpenLoop(order, arrivalsPerSecond, tally);
}

async function measure(order: LoadOrder, tally: Tally) {
  await sleep(order.warmupMs);
  tally.state = 'measuring';
  const start = readClocks(order, tally);
  await sleep(order.measureMs);
  tally.state = 'finishing';
  return { start, end: readClocks(order, tally) };
}

type Clocks = ReturnType<typeof readClocks>;

function readClocks({ targetPids, databasePid }: LoadOrder, { acknowledged }: Tally) {
  const own = process.cpuUsage();
  return {
    acknowledged,
    wallUs: performance.now() * 1000,
    ownCpuUs: own.user + own.system,
    waitedUs: waitedForCoreUs(process.pid),
    targetCpuUs: total(targetPids.map(cpuUs)),
    targetThreads: targetPids.length === 1 ? threadsOf(targetPids[0] ?? 0) : null,
    databaseCpuUs: databasePid === undefined ? null : cpuUsWithChildren(databasePid),
  };
}

function describeLoad(
  tally: Tally,
  { start, end }: Record<'start' | 'end', Clocks>,
): Omit<LoadResult, 'rssPeakBytes'> {
  const elapsedUs = end.wallUs - start.wallUs;
  const creates = end.acknowledged - start.acknowledged;
  const spentUs = difference(end.targetCpuUs, start.targetCpuUs);
  const databaseUs = difference(end.databaseCpuUs, start.databaseCpuUs);
  const waitedUs = difference(end.waitedUs, start.waitedUs);
  return {
    acknowledged: tally.acknowledged,
    createsPerSecond: creates / (elapsedUs / 1e6),
    ...describeTimes(tally.latenciesMs),
    cpuUsPerCreate: ratio(spentUs, creates),
    databaseCpuUsPerCreate: ratio(databaseUs, creates),
    cpuUsPerCreateByRole: cpuByRole(start.targetThreads, end.targetThreads, creates),
    generatorCpuShare: (end.ownCpuUs - start.ownCpuUs) / elapsedUs,
    generatorWaitShare: ratio(waitedUs, elapsedUs),
    lateness: tally.latenessesMs.length === 0 ? null : describeTimes(tally.latenessesMs),
  };
}

function describeTimes(timesMs: readonly number[]): Times {
  const ascending = Float64Array.from(timesMs).sort();
  const at = (share: number) => percentile(ascending, share);
  return { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999), maxMs: at(1) };
}

function total(values: (number | null)[]): number | null {
  return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}
