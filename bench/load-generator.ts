/**
 * Puts one target under one load and prints what it saw as JSON: `node load-generator.ts LOAD_ORDER_JSON`.
 *
 * A closed loop: every connection has one create outstanding and sends the next when the answer is there. A process of
 * its own with sockets instead of an HTTP client, because a client library costs more than the service measured.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../src/percentile.ts';
import { plantBody, requestAroundId } from './plant.ts';
import { cpuUs, rssPeakBytes, waitedForCoreUs } from './process-stats.ts';

export interface LoadOrder {
  port: number;
  token: string;
  /** The target's process, whose CPU time is read at both ends of the measured time. */
  targetPid: number;
  connections: number;
  /** The first id to create; the ids that follow ascend by one. */
  firstId: number;
  warmupMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Every 200 received, those before and after the measured time included. */
  acknowledged: number;
  nextId: number;
  createsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** All threads of the target, user and system; null where the kernel does not say. */
  cpuUsPerCreate: number | null;
  /** Since the target started, so of the heaviest load so far. */
  rssPeakBytes: number | null;
  /** The generator's own CPU time over the measured time: 1 is a whole core, and then it is the bottleneck. */
  generatorCpuShare: number;
  /** The share of the measured time in which the generator had work and no core to do it on. */
  generatorWaitShare: number | null;
}

interface Tally {
  nextId: number;
  acknowledged: number;
  latenciesMs: number[];
  state: 'warming up' | 'measuring' | 'finishing';
}

const responseBytesMax = 16 * 1024;

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await generateLoad(order)));

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const tally: Tally = { nextId: order.firstId, acknowledged: 0, latenciesMs: [], state: 'warming up' };
  const connections = Array.from({ length: order.connections }, () => runConnection(order, tally));
  // The creates under way at the end are finished, not cut off: what the store holds can then be counted exactly.
  const [measured] = await Promise.all([measure(order, tally), ...connections]);
  return { ...measured, acknowledged: tally.acknowledged, nextId: tally.nextId };
}

async function measure(order: LoadOrder, tally: Tally): Promise<Omit<LoadResult, 'acknowledged' | 'nextId'>> {
  await sleep(order.warmupMs);
  tally.state = 'measuring';
  const start = readClocks(order.targetPid);
  await sleep(order.measureMs);
  tally.state = 'finishing';
  const end = readClocks(order.targetPid);

  const elapsedUs = end.wallUs - start.wallUs;
  const creates = tally.latenciesMs.length;
  const latenciesMs = Float64Array.from(tally.latenciesMs).sort();
  const cpuSpentUs = difference(end.targetCpuUs, start.targetCpuUs);
  const waitedUs = difference(end.waitedUs, start.waitedUs);
  return {
    createsPerSecond: creates / (elapsedUs / 1e6),
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    maxMs: percentile(latenciesMs, 1),
    cpuUsPerCreate: cpuSpentUs === null ? null : cpuSpentUs / creates,
    rssPeakBytes: rssPeakBytes(order.targetPid),
    generatorCpuShare: (end.ownCpuUs - start.ownCpuUs) / elapsedUs,
    generatorWaitShare: waitedUs === null ? null : waitedUs / elapsedUs,
  };
}

function readClocks(targetPid: number) {
  const own = process.cpuUsage();
  return {
    wallUs: performance.now() * 1000,
    ownCpuUs: own.user + own.system,
    waitedUs: waitedForCoreUs(process.pid),
    targetCpuUs: cpuUs(targetPid),
  };
}

function difference(end: number | null, start: number | null): number | null {
  return end === null || start === null ? null : end - start;
}

/** Resolves when its last create is answered; rejects at the first answer that is not an acknowledgement. */
function runConnection(order: LoadOrder, tally: Tally): Promise<void> {
  const { head, tail } = requestAroundId(order.port, order.token);
  return new Promise((resolve, reject) => {
    let received = '';
    let sentAtMs = 0;

    const buffer = Buffer.allocUnsafe(responseBytesMax);
    const socket = connect({
      host: '127.0.0.1',
      port: order.port,
      noDelay: true,
      // One buffer for the life of the connection: no stream, and no allocation for every response.
      onread: { buffer, callback: onRead },
    });
    socket.once('connect', send);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the target closed a connection'))); // of no effect once resolved

    function send() {
      sentAtMs = performance.now();
      socket.write(head + tally.nextId++ + tail, 'latin1');
    }

    function onRead(length: number): boolean {
      received += buffer.toString('latin1', 0, length);
      const answer = readResponse(received);
      if (answer === 'acknowledged') acknowledge();
      if (answer === 'refused') socket.destroy(new Error(`not an acknowledgement:\n${received}`));
      return true; // keep reading
    }

    function acknowledge() {
      received = '';
      tally.acknowledged++;
      if (tally.state === 'measuring') tally.latenciesMs.push(performance.now() - sentAtMs);
      if (tally.state !== 'finishing') return send();
      resolve();
      socket.end();
    }
  });
}

/** Reads the status line, the Content-Length and the body, as far as they have arrived. */
function readResponse(text: string): 'acknowledged' | 'refused' | 'incomplete' {
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  if (bodyAt < 4) return 'incomplete';
  const bodyBytes = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(text)?.[1]);
  if (text.length < bodyAt + bodyBytes) return 'incomplete';
  const isPlant = text.startsWith('HTTP/1.1 200 ') && bodyBytes === plantBody.length;
  return isPlant && text.endsWith(plantBody) && text.length === bodyAt + bodyBytes ? 'acknowledged' : 'refused';
}
