import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LoadOrder } from '../load-generator.ts';
import { idSequences } from '../plant.ts';
import { type Connection, openConnection } from './connection.ts';

/** The counts of a load while it runs. */
export function startTally() {
  return {
    /** The measured time, which begins and ends later. */
    fromMs: Number.POSITIVE_INFINITY,
    toMs: Number.POSITIVE_INFINITY,
    acknowledged: 0,
    /** Of the measured creates. */
    latenciesMs: [] as number[],
    /** Delays until the generator noticed that a create was due, in an open loop. */
    latenessesMs: [] as number[],
  };
}

export type Tally = ReturnType<typeof startTally>;

/**
 * Opens the connections.
 *
 * - In a closed loop each client waits for each reply, and a create is measured if its reply comes
 *   in the measured time.
 * - In an open loop creates arrive at a constant rate, whatever the target does. A latency counts
 *   from the moment when a create was due, and includes its wait for a free connection or for the
 *   generator (no coordinated omission).
 *
 * @returns runs the load. The run resolves after the last reply, when the creates under way at the
 * end are finished, and rejects at the first reply that is no acknowledgement
 */
export async function openClients(order: LoadOrder, tally: Tally): Promise<() => Promise<void>> {
  const { arrivalsPerSecond, connections, firstId, ids = 'short' } = order;
  const isClosed = arrivalsPerSecond === undefined;
  const { idAt } = idSequences[ids];
  /** When the creates were due for which no connection was free. */
  const waitingMs: number[] = [];
  let taken = 0; // of them: `Array.shift` would copy what may be a long list
  const idle: Connection[] = [];
  const failure = Promise.withResolvers<never>();
  const drained = Promise.withResolvers<void>();
  const events = { onAcknowledged, onFailure: failure.reject };
  let ordinal = firstId;
  let underWay = 0;

  function send(connection: Connection, dueMs: number): void {
    connection.dueMs = dueMs;
    underWay++;
    connection.create(idAt(ordinal++));
  }

  function onAcknowledged(connection: Connection): void {
    const nowMs = performance.now();
    const countsMs = isClosed ? nowMs : connection.dueMs;
    underWay--;
    tally.acknowledged++;
    if (countsMs >= tally.fromMs && countsMs < tally.toMs)
      tally.latenciesMs.push(nowMs - connection.dueMs);
    if (isClosed && !isOver(tally)) return send(connection, nowMs);
    if (taken < waitingMs.length) return send(connection, waitingMs[taken++] ?? nowMs);
    idle.push(connection);
    endIfDrained();
  }

  function endIfDrained(): void {
    if (isOver(tally) && underWay === 0) drained.resolve();
  }

  function arrive(dueMs: number, nowMs: number): void {
    if (nowMs >= tally.fromMs) tally.latenessesMs.push(nowMs - dueMs);
    // The connection that has been idle for longest, so that all get a share.
    const connection = idle.shift();
    if (connection) send(connection, dueMs);
    else waitingMs.push(dueMs);
  }

  async function run(): Promise<void> {
    if (isClosed) for (const one of idle.splice(0)) send(one, performance.now());
    else await paceArrivals(arrivalsPerSecond, tally, arrive);
    endIfDrained();
    await drained.promise;
    for (const connection of idle) connection.end();
  }

  // One after the other, so that no connection waits for a second for its place in the backlog.
  for (let index = 0; index < connections; index++)
    idle.push(await Promise.race([openConnection(order, events), failure.promise]));
  return () => Promise.race([run(), failure.promise]);
}

function isOver({ toMs }: Tally): boolean {
  return toMs !== Number.POSITIVE_INFINITY;
}

/** The longest sleep between two reads of the sockets. The kernel adds 50 µs of timer slack. */
const napMsMax = 0.05;

/**
 * Exact to 0.1 ms: the thread sleeps until the next create is due, at most `napMsMax`, and reads
 * the sockets in between. A timer has a resolution of 1 ms, in which a fast target takes dozens of
 * creates. A busy loop would take a core from the target.
 */
async function paceArrivals(
  arrivalsPerSecond: number,
  tally: Tally,
  arrive: (dueMs: number, nowMs: number) => void,
): Promise<void> {
  const neverNotified = new Int32Array(new SharedArrayBuffer(4));
  const startMs = performance.now();
  // Counted from the start, so that neither rounding nor delays add up.
  const dueAtMs = (count: number) => startMs + (count * 1000) / arrivalsPerSecond;
  let arrived = 0;
  while (!isOver(tally)) {
    const nowMs = performance.now();
    for (; dueAtMs(arrived) <= nowMs; arrived++) arrive(dueAtMs(arrived), nowMs);
    const leftMs = Math.max(0, dueAtMs(arrived) - performance.now());
    Atomics.wait(neverNotified, 0, 0, Math.min(napMsMax, leftMs));
    await nextTurn();
  }
}
