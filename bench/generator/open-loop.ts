import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Lanes, openLanes } from './lanes.ts';
import type { LoadOrder } from './order.ts';
import type { Tally } from './tally.ts';

/**
 * Creates arrive at a constant rate, whatever the target does. Latency counts from the moment when
 * a create was due, and includes its wait for a free connection or for the generator (no
 * coordinated omission).
 *
 * Resolves after the last reply. Rejects at the first reply that is no acknowledgement.
 */
export async function runOpenLoop(
  order: LoadOrder,
  arrivalsPerSecond: number,
  tally: Tally,
): Promise<void> {
  const failure = Promise.withResolvers<never>();
  const lanes = await Promise.race([openLanes(order, tally, failure.reject), failure.promise]);
  await Promise.race([paceArrivals(arrivalsPerSecond, tally, lanes), failure.promise]);
  await Promise.race([lanes.drain(), failure.promise]);
}

/** The longest sleep between two reads of the sockets. The kernel adds 50 µs of timer slack. */
const napMsMax = 0.05;

/**
 * Exact to 0.1 ms: the thread sleeps until the next create is due, at most `napMsMax`, and reads
 * the sockets in between. A timer has a resolution of 1 ms, in which a fast target takes dozens of
 * creates. A busy loop would take a core from the target.
 */
async function paceArrivals(arrivalsPerSecond: number, tally: Tally, lanes: Lanes): Promise<void> {
  const neverNotified = new Int32Array(new SharedArrayBuffer(4));
  const startMs = performance.now();
  // Counted from the start, so that neither rounding nor delays add up.
  const dueAtMs = (count: number) => startMs + (count * 1000) / arrivalsPerSecond;
  let arrived = 0;
  while (tally.state !== 'finishing') {
    const nowMs = performance.now();
    for (; dueAtMs(arrived) <= nowMs; arrived++) arrive(dueAtMs(arrived), nowMs);
    Atomics.wait(
      neverNotified,
      0,
      0,
      Math.min(napMsMax, Math.max(0, dueAtMs(arrived) - performance.now())),
    );
    await nextTurn();
  }

  function arrive(dueMs: number, nowMs: number): void {
    const isMeasured = tally.state === 'measuring';
    if (isMeasured) tally.latenessesMs.push(nowMs - dueMs);
    lanes.take({ dueMs, isMeasured });
  }
}
