/**
 * `node load-generator.ts LOAD_ORDER_JSON` puts one target under one load, and prints the result as
 * JSON. A process of its own, so that its CPU time is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../src/prove/fdatasync.ts';
import { openClients, startTally, type Tally } from './generator/clients.ts';
import type { DialectName, IdKind } from './plant.ts';
import { cpuUs, cpuUsWithChildren, rssPeakBytes, waitedForCoreUs } from './process-stats.ts';
import { difference, ratio } from './statistics.ts';

export interface Load {
  connections: number;
  /** Undefined for a closed loop: each connection sends its next create after the last reply. */
  arrivalsPerSecond?: number;
  warmupMs: number;
  measureMs: number;
  /** The generator has this core alone. */
  core?: number | undefined;
}

export interface LoadOrder extends Load {
  port: number;
  token: string;
  targetPid: number;
  /** The main process of the target's database server, if there is one. */
  databasePid?: number | undefined;
  /** Default: `short`. */
  ids?: IdKind;
  /** Default: `plants`. */
  dialect?: DialectName | undefined;
  /** Ordinal of the first id. The next ordinals follow. */
  firstId: number;
}

export type LoadResult = ReturnType<typeof describeLoad>;

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await generateLoad(order)));

async function generateLoad(order: LoadOrder) {
  const tally = startTally();
  const run = await openClients(order, tally);
  const [clocks] = await Promise.all([measure(order, tally), run()]);
  return describeLoad(order, tally, clocks);
}

async function measure(order: LoadOrder, tally: Tally) {
  await sleep(order.warmupMs);
  tally.fromMs = performance.now();
  const start = readClocks(order, tally);
  await sleep(order.measureMs);
  tally.toMs = performance.now();
  return { start, end: readClocks(order, tally) };
}

type Clocks = ReturnType<typeof readClocks>;

function readClocks({ targetPid, databasePid }: LoadOrder, { acknowledged }: Tally) {
  const own = process.cpuUsage();
  return {
    acknowledged,
    wallUs: performance.now() * 1000,
    ownCpuUs: own.user + own.system,
    waitedUs: waitedForCoreUs(process.pid),
    targetCpuUs: cpuUs(targetPid),
    databaseCpuUs: databasePid === undefined ? null : cpuUsWithChildren(databasePid),
  };
}

/** The times are latencies over all measured creates. What /proc tells is null without Linux. */
function describeLoad(
  { targetPid }: LoadOrder,
  { acknowledged, latenciesMs, latenessesMs }: Tally,
  { start, end }: Record<'start' | 'end', Clocks>,
) {
  const elapsedUs = end.wallUs - start.wallUs;
  const creates = end.acknowledged - start.acknowledged;
  const busyUs = end.ownCpuUs - start.ownCpuUs + (difference(end.waitedUs, start.waitedUs) ?? 0);
  const latencies = Float64Array.from(latenciesMs).sort();
  const latenesses = Float64Array.from(latenessesMs).sort();
  return {
    /** All acknowledged creates, also before and after the measured time. */
    acknowledged,
    /** Acknowledged in the measured time, as are the creates that divide the CPU times. */
    createsPerSecond: creates / (elapsedUs / 1e6),
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    p999Ms: percentile(latencies, 0.999),
    maxMs: percentile(latencies, 1),
    p99ToP50: percentile(latencies, 0.99) / percentile(latencies, 0.5),
    /** All threads of the target, user and system. */
    cpuUsPerCreate: ratio(difference(end.targetCpuUs, start.targetCpuUs), creates),
    /** All processes of the database server. Null for a target without one. */
    databaseCpuUsPerCreate: ratio(difference(end.databaseCpuUs, start.databaseCpuUs), creates),
    /** Since the target started. */
    rssPeakBytes: rssPeakBytes(targetPid),
    /** Share of the measured time in which the generator ran, or had work and no core. */
    generatorBusyShare: busyUs / elapsedUs,
    /** Delay until the generator noticed that a create was due. Null for a closed loop. */
    lateP99Ms: latenesses.length === 0 ? null : percentile(latenesses, 0.99),
  };
}
