import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Lanes, openLanes } from './lanes.ts';
import type { LoadOrder } from './order.ts';
import type { Tally } from './tally.ts';

/**
 * Creates arrive at a constant rate, whatever the target does. The latency of each counts from the
 * moment when it was due: the time in which it waited for a free connection, or for the generator
 * itself, is part of it (no coordinated omission).
 *
 * Resolves when the last create is answered; rejects at the first answer that is not an
 * acknowledgement.
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

/**
 * The longest sleep between two looks at the sockets. The kernel adds some 50 µs (its timer slack).
 */
const napMsMax = 0.05;

/**
 * A timer of Node has a resolution of 1 ms, in which a fast target takes dozens of creates. So the
 * thread itself sleeps until the next create is due, but never for long, and looks at the sockets
 * in between: exact to a tenth of a millisecond, and without the core that a busy loop would take
 * from the target.
 */
async function paceArrivals(arrivalsPerSecond: number, tally: Tally, lanes: Lanes): Promise<void> {
  const neverNotified = new Int32Array(new SharedArrayBuffer(4));
  const startMs = performance.now();
  // Each is counted from the start and not from the one before, so that no rounding and no delay
  // adds up.
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
