import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownerOf, type RunningServer, startServer } from '../../helpers/program.ts';
import type { JournalEntry } from '../check-journal.ts';
import { type Client, type Journal, runConnections } from '../client.ts';
import { createWorkload, type Workload, type WorkloadOptions } from '../workload.ts';
import { createDisk, type Disk, readFolder } from './disk.ts';
import { endOfProcess, readTrace, type TraceEvent } from './trace.ts';

/** What became of a store from its first start on, and what clients were told meanwhile. */
export interface Recording {
  readonly events: readonly TraceEvent[];
  readonly entries: readonly JournalEntry[];
}

export interface RecordOptions {
  /** An empty folder, for the store and the traces. */
  readonly folder: string;
  /** The compiled recorder. */
  readonly library: string;
  readonly seed: number;
  /** How each life of the server ends, in the midst of requests. */
  readonly lives: readonly ('SIGKILL' | 'SIGTERM')[];
  readonly plantsPerLife: number;
  /** More of the server's environment. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** A server that takes longer fails the run. */
const lifeMsMax = 120_000;

/** The token that the first start makes. */
export const tokenFile = 'first-start.token';

/** Where the store is below the folder that is recorded; the server makes the folder itself. */
export const storeFolder = 'store';

/** Records a real server, life after life, from its very first start on. */
export async function record(options: RecordOptions): Promise<Recording> {
  const { lives, plantsPerLife } = options;
  const entries: Journal = [];
  const model = createDisk();
  const events: TraceEvent[] = [];
  let workload: Workload | undefined;
  for (const signal of lives) {
    let left = plantsPerLife;
    let stopping: Promise<unknown> | undefined;
    const lead: Lead = (server, work) => {
      workload = work;
      return {
        // What the last life has left unknown comes first: it may be answered from what that life
        // wrote and did not sync.
        next: () => (left > 0 ? (work.nextUnknown() ?? work.next()) : undefined),
        settled(status) {
          if (status === 200) left -= 1;
          if (left === 0) stopping ??= server.stop(signal);
        },
      };
    };
    const life = { ...options, entries, model, workload, leaves: true, connections: 16 };
    const { child, stderr, events: own } = await liveUnderLoad(life, lead);
    events.push(...own);
    await stopping;
    assert.equal(
      child.signalCode ?? child.exitCode,
      signal === 'SIGKILL' ? signal : 0,
      `the server has ended by itself: ${stderr()}`,
    );
  }
  return { events, entries };
}

/** Decides what is sent to a server, and when it is stopped. */
export type Lead = (server: RunningServer, workload: Workload) => Pick<Client, 'next' | 'settled'>;

interface Life
  extends Pick<RecordOptions, 'folder' | 'library' | 'variables'>,
    Pick<WorkloadOptions, 'seed' | 'leaves'> {
  readonly entries: Journal;
  /** Of the disk, which was in the same state before this life. */
  readonly model: Disk;
  /** That of the life before. */
  readonly workload?: Workload | undefined;
  readonly connections: number;
}

/**
 * One life of a recorded server, which is started as users do, without a fixed token. It lasts until
 * the lead has no next request, or the server has ended.
 */
export async function liveUnderLoad(
  life: Life,
  lead: Lead,
): Promise<RunningServer & { readonly events: readonly TraceEvent[] }> {
  const { folder, library, variables, entries, seed, leaves = false } = life;
  const disk = join(folder, 'disk');
  mkdirSync(disk, { recursive: true });
  const trace = join(folder, `${entries.length}.trace`);
  await using stack = new AsyncDisposableStack();
  const server = await startServer(ownerOf(stack), join(disk, storeFolder, 'plants.db'), [], {
    ...{ LD_PRELOAD: library, RECORDER_FOLDER: disk, RECORDER_TRACE: trace },
    ...variables,
  });
  const { child, port } = server;
  const token = readFileSync(join(disk, storeFolder, tokenFile), 'utf8').trim();
  const workload = life.workload ?? createWorkload({ seed, token, leaves });
  const alarm = setTimeout(() => child.kill('SIGABRT'), lifeMsMax);
  const { next, settled } = lead(server, workload);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  let isOver = false;
  const client: Client = {
    ...{ port, journal: entries, workload },
    ...(settled && { settled }),
    next() {
      const request = hasEnded() ? undefined : next();
      isOver ||= request === undefined;
      return request;
    },
  };
  await runConnections(client, life.connections, () => isOver || hasEnded());
  if (!hasEnded()) await once(child, 'exit');
  clearTimeout(alarm);
  return { ...server, events: settleTrace(trace, life.model, disk) };
}

/**
 * Takes what was recorded into the model, and compares the model with the real disk: so nothing has
 * escaped the recorder. A process that was killed in the midst of a change may have made it in
 * part, or not at all.
 *
 * @returns what has happened
 */
function settleTrace(path: string, model: Disk, disk: string): TraceEvent[] {
  const { events, last } = readTrace(path);
  for (const event of events) model.apply(event);
  const happened = last && whatHappened(last, model, readFolder(disk));
  const atEnd = happened ? [happened, endOfProcess] : [endOfProcess];
  for (const event of atEnd) model.apply(event);
  const [recorded, real] = [model.seen(), readFolder(disk)];
  const names = [recorded, real].map((files) => [...files.keys()].sort());
  assert.deepEqual(names[0], names[1], 'the names on the disk differ from the recorded names');
  for (const [name, content] of recorded) {
    const isSame = sameContent(content, real.get(name));
    assert(isSame, `${name} is on the disk with another content than that recorded`);
  }
  return [...events, ...atEnd];
}

const changesNoFile = new Set(['sync', 'synced', 'not synced', 'reply', 'fault']);

function whatHappened(
  last: TraceEvent,
  model: Disk,
  real: ReadonlyMap<string, Buffer | undefined>,
): TraceEvent | undefined {
  if (changesNoFile.has(last.what)) return last;
  const before = model.seen();
  const isUnchanged =
    before.size === real.size &&
    [...before].every(([name, content]) => real.has(name) && sameContent(content, real.get(name)));
  if (isUnchanged) return undefined;
  if (last.what !== 'write') return last;
  const there = real.get(last.path)?.subarray(last.number) ?? Buffer.alloc(0);
  let length = 0;
  while (length < last.data.length && there[length] === last.data[length]) length += 1;
  return { ...last, data: last.data.subarray(0, length) };
}

function sameContent(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}
