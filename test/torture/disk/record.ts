import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningServer, startServer } from '../../helpers/program.ts';
import { type JournalEntry, readJournal } from '../check-journal.ts';
import { type Journal, openJournal, runConnections } from '../client.ts';
import { createWorkload, type Workload } from '../workload.ts';
import { createDisk, type Disk, readFolder } from './disk.ts';
import { amendTrace, readTrace, type TraceEvent } from './trace.ts';

/** What became of a store from its first start on, and what clients were told meanwhile. */
export interface Recording {
  readonly events: readonly TraceEvent[];
  readonly entries: readonly JournalEntry[];
}

export interface RecordOptions {
  /** An empty folder, for the store, the traces and the journal. */
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

const connections = 16;

/** A server that takes longer fails the run. */
const lifeMsMax = 120_000;

/** The token that the first start makes. */
export const tokenFile = 'first-start.token';

/** Where the store is below the folder that is recorded; the server makes the folder itself. */
export const storeFolder = 'store';

/** Records a real server, life after life, from its very first start on. */
export async function record(options: RecordOptions): Promise<Recording> {
  const disk = join(options.folder, 'disk');
  mkdirSync(disk);
  using journal = openJournal(join(options.folder, 'journal.ndjson'));
  const model = createDisk();
  let workload: Workload | undefined;
  for (const [index, signal] of options.lives.entries()) {
    const trace = join(options.folder, `life-${1 + index}.trace`);
    workload = await live({ ...options, disk, journal, trace, signal, workload });
    settleTrace(trace, model, disk);
  }
  return readRecording(options.folder);
}

/** Reads what was recorded in that folder. */
function readRecording(folder: string): Recording {
  const traces = readdirSync(folder).filter((name) => name.endsWith('.trace'));
  const byLife = traces.map(
    (_, index) => readTrace(join(folder, `life-${1 + index}.trace`)).events,
  );
  return {
    events: byLife.flatMap((events) => [...events, { what: 'end' } as const]),
    entries: [...readJournal(join(folder, 'journal.ndjson'))],
  };
}

interface Life extends RecordOptions {
  readonly disk: string;
  readonly journal: Journal;
  readonly trace: string;
  readonly signal: NodeJS.Signals;
  readonly workload: Workload | undefined;
}

async function live({ journal, signal, ...life }: Life): Promise<Workload> {
  await using owner = new AsyncDisposableStack();
  const server = await startRecorded(owner, life);
  const workload = life.workload ?? createWorkload(life.seed, firstToken(life.disk));

  let left = life.plantsPerLife;
  let ended: Promise<unknown> | undefined;
  const happened = (happening: string) => {
    if (happening !== 'plant acknowledged') return;
    left -= 1;
    if (left === 0) ended = server.stop(signal);
  };
  const alarm = setTimeout(() => server.child.kill('SIGABRT'), lifeMsMax);
  // What the last life has left unknown comes first: it may be answered from what that life wrote
  // and did not sync.
  const next = () => (left > 0 ? (workload.nextUnknown() ?? workload.next()) : undefined);
  const client = { port: server.port, journal, workload, happened, next };
  await runConnections(
    client,
    connections,
    () => left <= 0 || server.child.exitCode !== null || server.child.signalCode !== null,
  );
  await ended;
  clearTimeout(alarm);
  const { exitCode, signalCode } = server.child;
  assert.equal(
    signalCode ?? exitCode,
    signal === 'SIGKILL' ? signal : 0,
    `the server has ended by itself: ${server.stderr()}`,
  );
  return workload;
}

interface RecordedServer {
  /** The folder that is recorded; the store is in one below. */
  readonly disk: string;
  readonly library: string;
  /** Where the records go. */
  readonly trace: string;
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Starts the real program as users do, without a fixed token. It is killed with its owner. */
export function startRecorded(
  owner: AsyncDisposableStack,
  { disk, library, trace, variables }: RecordedServer,
): Promise<RunningServer> {
  const recorder = { LD_PRELOAD: library, RECORDER_FOLDER: disk, RECORDER_TRACE: trace };
  // Threads share syncs, and a machine with few cores has one thread.
  const settings = { PLANT_STORE_HTTP_THREADS: '2' };
  const store = join(disk, storeFolder, 'plants.db');
  return startServer({ after: (cleanup) => owner.defer(() => void cleanup()) }, store, [], {
    ...recorder,
    ...settings,
    ...variables,
  });
}

export function firstToken(disk: string): string {
  return readFileSync(join(disk, storeFolder, tokenFile), 'utf8').trim();
}

/**
 * Takes what was recorded into the model, and compares the model with the real disk: so nothing has
 * escaped the recorder. A process that was killed in the midst of a change may have made it in
 * part, or not at all; the trace then is amended.
 */
export function settleTrace(path: string, model: Disk, disk: string): void {
  const { events, lastAt } = readTrace(path);
  const last = lastAt === undefined ? undefined : events.pop();
  for (const event of events) model.apply(event);
  if (last && lastAt !== undefined) {
    const happened = whatHappened(last, model, readFolder(disk));
    if (happened) model.apply(happened);
    if (happened === undefined || happened.what === 'write') amendTrace(path, lastAt, happened);
  }
  model.apply({ what: 'end' });
  const [recorded, real] = [model.seen(), readFolder(disk)];
  const names = [recorded, real].map((files) => [...files.keys()].sort());
  assert.deepEqual(names[0], names[1], 'the names on the disk differ from the recorded names');
  for (const [name, content] of recorded) {
    const isSame = sameContent(content, real.get(name));
    assert(isSame, `${name} is on the disk with another content than that recorded`);
  }
}

function whatHappened(
  last: TraceEvent,
  model: Disk,
  real: ReadonlyMap<string, Buffer | undefined>,
): TraceEvent | undefined {
  if (
    last.what === 'sync' ||
    last.what === 'synced' ||
    last.what === 'not synced' ||
    last.what === 'reply'
  )
    return last;
  const before = model.seen();
  if (
    before.size === real.size &&
    [...before].every(([name, content]) => real.has(name) && sameContent(content, real.get(name)))
  ) {
    return undefined;
  }
  if (last.what !== 'write') return last;
  const there = real.get(last.path)?.subarray(last.offset) ?? Buffer.alloc(0);
  let length = 0;
  while (length < last.data.length && there[length] === last.data[length]) length += 1;
  return { ...last, data: last.data.subarray(0, length) };
}

function sameContent(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}
