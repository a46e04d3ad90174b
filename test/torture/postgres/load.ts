import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { type RunningServer, token } from '../../helpers/program.ts';
import { type CheckReport, checkPlants, readJournal, type SentPlant } from '../check-journal.ts';
import { openJournal, runConnections } from '../client.ts';
import { createWorkload, nextThatStays, type Workload } from '../workload.ts';

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
  /** Resolves when every client of a running node has had further `plants` acknowledged. */
  acknowledged(plants: number): Promise<void>;
  /** Resolves when every client of the node has had `requests` further replies with 503. */
  refused(requests: number, node: RunningServer): Promise<void>;
  /** Resolves when every client of a running node has had `replies` in a row without a 503. */
  inService(replies: number): Promise<void>;
  /** What was seen since the last call. */
  seen(): Seen;
  /**
   * Stops, sends everything again whose outcome is unknown, and compares what is stored with what
   * the clients were told.
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
  /** When the request under way was sent. */
  sentMs: number;
}

/** Each of the threads of a node has some of them, as the kernel deals them out. */
const lanesPerNode = 4;

/** What has not come by then will not come. */
const waitMs = 90_000;

/**
 * @param folder for the journal
 * @param pauseMs of a client between a reply and its next request
 */
export function startLoad(folder: string, seed: number, pauseMs = 0): Load {
  const path = join(folder, 'journal.ndjson');
  const journal = openJournal(path);
  const workload = createWorkload(seed, token);
  const nothingSeen = (): Seen => ({ statuses: {}, cut: 0, slowestMs: 0 });
  let seen = nothingSeen();
  const progress = new EventEmitter();
  const lanes: Lane[] = [];
  const running: Promise<void>[] = [];
  let isOver = false;

  function startLane(node: RunningServer): Promise<void> {
    const lane = { node, acknowledged: 0, refused: 0, inRow: 0, sentMs: 0 };
    lanes.push(lane);
    const isLaneOver = () => isOver || hasEnded(lane);
    const client = {
      port: node.port,
      journal,
      workload: noticing(workload, (status) => {
        note(lane, status);
        if (status === undefined) seen.cut += 1;
        else seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
        seen.slowestMs = Math.max(seen.slowestMs, performance.now() - lane.sentMs);
        progress.emit('settled');
      }),
      pauseMs,
      next() {
        lane.sentMs = performance.now();
        return isLaneOver() ? undefined : nextThatStays(workload);
      },
      happened: () => {},
    };
    return runConnections(client, 1, isLaneOver);
  }

  async function until(isReached: (lane: Lane, before: Lane) => boolean): Promise<void> {
    const before = new Map(lanes.map((lane) => [lane, { ...lane }]));
    const signal = AbortSignal.timeout(waitMs);
    const isDone = (lane: Lane) => hasEnded(lane) || isReached(lane, before.get(lane) ?? lane);
    while (!lanes.every(isDone)) await once(progress, 'settled', { signal });
  }

  async function retryUnknown(): Promise<void> {
    const { node } = lanes.find((lane) => !hasEnded(lane)) ?? assert.fail('no node is left');
    const failed: unknown[] = [];
    const retrying = noticing(
      workload,
      (status) => status !== 200 && status !== 400 && failed.push(status),
    );
    const client = {
      port: node.port,
      journal,
      workload: retrying,
      next: workload.nextUnknown,
      happened: () => {},
    };
    await runConnections(client, lanesPerNode, () => true);
    assert.deepEqual(
      failed,
      [],
      'a retry of what was unknown is answered with 200, or with 400 if another plant has the id',
    );
  }

  return {
    add(node) {
      for (let lane = 0; lane < lanesPerNode; lane += 1) running.push(startLane(node));
    },
    acknowledged: (plants) =>
      until((lane, before) => lane.acknowledged >= before.acknowledged + plants),
    refused: (requests, node) =>
      until((lane, before) => lane.node !== node || lane.refused >= before.refused + requests),
    inService(replies) {
      for (const lane of lanes) lane.inRow = 0;
      return until((lane) => lane.inRow >= replies);
    },
    seen() {
      const taken = seen;
      seen = nothingSeen();
      return taken;
    },
    async end(readStore) {
      isOver = true;
      await Promise.all(running);
      await retryUnknown();
      journal[Symbol.dispose]();
      return checkPlants(await readStore(), readJournal(path));
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
}

function noticing(workload: Workload, notice: (status: number | undefined) => void): Workload {
  return {
    ...workload,
    settled(request, status) {
      workload.settled(request, status);
      notice(status);
    },
  };
}
