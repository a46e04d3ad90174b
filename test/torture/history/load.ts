import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type RunningServer, token } from '../../helpers/program.ts';
import { type CheckReport, checkPlants, keepJournal, type SentPlant } from '../check-journal.ts';
import { type Journal, runConnections } from '../client.ts';
import { createWorkload } from '../workload.ts';

/** What clients have seen. */
export interface Seen {
  /** Replies by status. */
  readonly statuses: Record<number, number>;
  /** Connections that ended without a reply. */
  cut: number;
  /** From sending a request to its reply, or to the end of its connection. */
  slowestMs: number;
}

/**
 * Clients that create plants on several nodes, each one after the other, and write down what they
 * are told.
 */
export interface Load {
  /** Sends to this node, too, until it has ended. */
  add(node: RunningServer): void;
  /** Requests with an outcome. */
  operations(): number;
  /** Resolves when there are so many more. */
  settled(operations: number): Promise<void>;
  /** Resolves when every client of a running node has had further `plants` acknowledged. */
  acknowledged(plants: number, nodes?: readonly RunningServer[]): Promise<void>;
  /** Resolves when every client of the node has had `requests` further replies with 503. */
  refused(requests: number, node: RunningServer): Promise<void>;
  /**
   * Resolves when every client of a running node has had `replies` in a row without a 503, with the
   * time at which the last of these rows began.
   */
  inService(replies: number): Promise<number>;
  /** What was seen since the last call. */
  seen(): Seen;
  /**
   * Stops, and compares what is stored with what the clients were told, before and after it has
   * sent everything again whose outcome is unknown.
   */
  end(readStore: () => Promise<ReadonlyMap<string, SentPlant>>): Promise<CheckReport>;
}

/** A client, with one connection and one request under way. */
interface Lane {
  readonly node: RunningServer;
  acknowledged: number;
  refused: number;
  /** Replies since the last 503 or lost connection. */
  inRow: number;
  /** When the first of them came. */
  rowSinceMs: number;
  /** When the request under way was sent. */
  sentMs: number;
}

/** What has not come by then will not come. */
const waitMs = 90_000;

/** A node on a busy machine may read its tokens too late, and refuses all meanwhile. */
const retriesRefusedMax = 1_000;
const retryLanes = 8;

export interface LoadOptions {
  /** An empty folder, for the journal of a run that fails. */
  readonly folder: string;
  /** Repeats the requests and the faults, as far as the timing of processes can be repeated. */
  readonly seed: number;
  /** Each of the threads of a node has some of them, as the kernel deals them out. */
  readonly lanesPerNode: number;
  /** Of a client between a reply and its next request. */
  readonly pauseMs: number;
}

export function startLoad({ folder, seed, lanesPerNode, pauseMs }: LoadOptions): Load {
  const journal: Journal = [];
  const workload = createWorkload({ seed, token, wanted: { ids: 32, times: 8 } });
  const nothingSeen = (): Seen => ({ statuses: {}, cut: 0, slowestMs: 0 });
  let seen = nothingSeen();
  const progress = new EventEmitter();
  const lanes: Lane[] = [];
  const running: Promise<void>[] = [];
  let operations = 0;
  let isOver = false;

  function startLane(node: RunningServer): Promise<void> {
    const lane = { node, acknowledged: 0, refused: 0, inRow: 0, rowSinceMs: 0, sentMs: 0 };
    lanes.push(lane);
    const isLaneOver = () => isOver || hasEnded(lane);
    const client = {
      port: node.port,
      journal,
      workload,
      pauseMs,
      next() {
        lane.sentMs = performance.now();
        return isLaneOver() ? undefined : workload.next();
      },
      settled(status: number | undefined) {
        operations += 1;
        note(lane, status);
        if (status === undefined) seen.cut += 1;
        else seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
        seen.slowestMs = Math.max(seen.slowestMs, performance.now() - lane.sentMs);
        progress.emit('settled');
      },
    };
    return runConnections(client, 1, isLaneOver);
  }

  async function until(isReached: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(waitMs);
    while (!isReached()) await once(progress, 'settled', { signal });
  }

  function untilEach(isReached: (lane: Lane, before: Lane) => boolean): Promise<void> {
    const before = new Map(lanes.map((lane) => [lane, { ...lane }]));
    const isDone = (lane: Lane) => hasEnded(lane) || isReached(lane, before.get(lane) ?? lane);
    return until(() => lanes.every(isDone));
  }

  async function retryUnknown(): Promise<void> {
    const { node } = lanes.find((lane) => !hasEnded(lane)) ?? assert.fail('no node is left');
    const retries = workload.retries();
    let refused = 0;
    const client = {
      port: node.port,
      journal,
      workload,
      next: () =>
        refused > retriesRefusedMax ? undefined : (workload.nextUnknown() ?? retries.next().value),
      settled: (status: number | undefined) => void (refused += status === 503 ? 1 : 0),
    };
    await runConnections(client, retryLanes, () => true);
    assert(refused <= retriesRefusedMax, 'retries are refused although all is well');
  }

  return {
    add(node) {
      for (let lane = 0; lane < lanesPerNode; lane += 1) running.push(startLane(node));
    },
    operations: () => operations,
    settled(more) {
      const enough = operations + more;
      return until(() => operations >= enough);
    },
    acknowledged: (plants, nodes) =>
      untilEach(
        (lane, before) =>
          nodes?.includes(lane.node) === false || lane.acknowledged >= before.acknowledged + plants,
      ),
    refused: (requests, node) =>
      untilEach((lane, before) => lane.node !== node || lane.refused >= before.refused + requests),
    async inService(replies) {
      for (const lane of lanes) lane.inRow = 0;
      await untilEach((lane) => lane.inRow >= replies);
      const left = lanes.filter((lane) => !hasEnded(lane));
      return Math.max(...left.map(({ rowSinceMs }) => rowSinceMs));
    },
    seen() {
      const taken = seen;
      seen = nothingSeen();
      return taken;
    },
    async end(readStore) {
      isOver = true;
      await Promise.all(running);
      const check = async () => checkPlants(await readStore(), journal);
      // A retry would create again what is lost.
      const { violations } = await check();
      await retryUnknown();
      const report = await check();
      const all = [...new Set([...violations, ...report.violations])];
      if (all.length > 0) await keepJournal(folder, journal);
      return { ...report, violations: all };
    },
  };
}

function hasEnded({ node: { child } }: Lane): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function note(lane: Lane, status: number | undefined): void {
  if (status === 200) lane.acknowledged += 1;
  if (status === 503) lane.refused += 1;
  lane.inRow = status === undefined || status === 503 ? 0 : lane.inRow + 1;
  if (lane.inRow === 1) lane.rowSinceMs = performance.now();
}
