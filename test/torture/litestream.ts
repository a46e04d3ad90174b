import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sqliteCompanions } from '../../src/store/location.ts';
import {
  type Litestream,
  type ReplicatedStore,
  restoreReplica,
  startLitestream,
  whyNoLitestream,
} from '../helpers/litestream.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  type Owner,
  type RunningServer,
  runProgram,
  startServer,
  storeText,
} from '../helpers/program.ts';
import { readStore, type SentPlant } from './check-journal.ts';
import { type Run, runAsCommand } from './command.ts';
import { bodyOf, seededRandom } from './workload.ts';

/*
 * Loses the machine of a loaded service again and again: kills the service and Litestream at a
 * random moment, throws the folder of the store away, restores the replica, and compares the result
 * with what clients were told. Each machine goes on where the restored store ends. In its life,
 * either program is killed or stopped, and started again.
 */

const incidents = [
  'nothing',
  'Litestream killed',
  'Litestream stopped',
  'service killed',
  'service stopped',
  'both killed',
  'both stopped',
] as const;
type Incident = (typeof incidents)[number];

/**
 * A create that was acknowledged earlier must be in the replica. Litestream reads the WAL once a
 * second, and writes the replica once a second. The rest is for a busy machine.
 */
const windowMs = 5_000;

const clients = 16;
/** Between a reply and the next request of a client: full load, half load, some load. */
const pausesMs: readonly [number, ...number[]] = [0, 10, 100];

interface Sent {
  readonly plant: SentPlant;
  readonly sentAtMs: number;
  acknowledgedAtMs?: number | undefined;
}

/** What clients have sent, by id. */
type Journal = Map<string, Sent>;

interface Machine {
  readonly service: RunningServer;
  readonly litestream: Litestream;
  /** Start of Litestream, and the end of the Litestream before. */
  readonly followedSinceMs: number;
  readonly followedUntilMs: number;
}

/**
 * @param options a machine lives for twice `life-ms` at most: before and after the incident
 * @returns `violations` is empty, or has those of the last round; `agesMs` has of each round the age
 * of the oldest acknowledged create that the restored store lacks, when the machine was lost
 */
async function loseMachines(
  options: Run & Readonly<Record<'rounds' | 'life-ms', number>>,
): Promise<{ violations: string[]; agesMs: number[] }> {
  const { folder, owner, rounds, seed, 'life-ms': lifeMsMax, report } = options;
  const random = seededRandom(seed);
  const oneOf = <T>(all: readonly [T, ...T[]]) => all[Math.floor(random() * all.length)] ?? all[0];
  const life = () => delay(Math.floor(random() * lifeMsMax));
  const replicated = { store: join(folder, 'machine/plants.db'), replica: join(folder, 'replica') };
  const journal: Journal = new Map();
  const agesMs: number[] = [];
  let machine = await startMachine(owner, replicated, Date.now());
  // A machine that is lost before it has a replica leaves nothing to restore.
  await machine.litestream.inSync();

  for (let round = 1; round <= rounds; round += 1) {
    const incident = oneOf(incidents);
    const firstPlant = journal.size;
    const load = startLoad(() => machine.service.plantsUrl, journal, oneOf(pausesMs), random);
    await life();
    machine = await change(owner, replicated, machine, incident, life);
    await life();
    const lostAtMs = await lose(replicated, machine, oneOf([true, false]));
    await load.end();

    await restoreLost(replicated, folder);
    const { missing, oldestMs, violations } = compare(replicated, journal, machine, lostAtMs);
    machine = await startMachine(owner, replicated, lostAtMs);
    const sentInRound = [...journal.values()].slice(firstPlant);
    violations.push(...(await retry(machine.service, new Set([...sentInRound, ...missing]))));
    agesMs.push(oldestMs);
    report(
      `round ${round}, ${incident}: ${missing.length} of ${sentInRound.length} plants were lost, the oldest ${oldestMs} ms old`,
    );
    if (violations.length > 0) return { violations, agesMs };
  }
  await Promise.all([machine.service.stop(), machine.litestream.stop()]);
  return { violations: [], agesMs };
}

/**
 * @param wholly false: Litestream keeps its own folder beside the store, as after a mere damage
 * @returns the time of the loss
 */
async function lose(
  { store }: ReplicatedStore,
  { service, litestream }: Machine,
  wholly: boolean,
): Promise<number> {
  const lostAtMs = Date.now();
  await Promise.all([service.stop('SIGKILL'), litestream.stop('SIGKILL')]);
  if (wholly) rmSync(dirname(store), { recursive: true });
  else for (const ending of ['', ...sqliteCompanions]) rmSync(store + ending, { force: true });
  return lostAtMs;
}

/** Restores as the page of Litestream shows. */
async function restoreLost(replicated: ReplicatedStore, folder: string): Promise<void> {
  const copy = join(folder, 'restored.db');
  await restoreReplica(replicated, copy);
  const args = ['restore', copy, '--store', storeText(replicated.store)];
  const { code, stderr } = await runProgram(args);
  assert.equal(code, 0, `${stderr}; the replica is ${replicated.replica}`);
  rmSync(copy);
}

/** Neither program waits for the other, as after the start of a machine. */
async function startMachine(
  owner: Owner,
  replicated: ReplicatedStore,
  followedUntilMs: number,
): Promise<Machine> {
  const followedSinceMs = Date.now();
  mkdirSync(dirname(replicated.store), { recursive: true });
  const litestream = startLitestream(owner, replicated);
  const service = await startServer(owner, replicated.store);
  return { service, litestream, followedSinceMs, followedUntilMs };
}

/**
 * Kills or stops a program of the machine, or both, and starts again what has ended.
 *
 * @param away how long Litestream is missing beside a running service
 */
async function change(
  owner: Owner,
  replicated: ReplicatedStore,
  machine: Machine,
  incident: Incident,
  away: () => Promise<void>,
): Promise<Machine> {
  const [who, how] = incident.split(' ');
  if (how === undefined) return machine;
  const signal = how === 'killed' ? 'SIGKILL' : 'SIGTERM';
  const followedUntilMs = Date.now();
  if (who !== 'service') await machine.litestream.stop(signal);
  if (who !== 'Litestream') await machine.service.stop(signal);
  if (who === 'both') return startMachine(owner, replicated, followedUntilMs);
  if (who === 'service') return { ...machine, service: await startServer(owner, replicated.store) };
  await away();
  const litestream = startLitestream(owner, replicated);
  return { ...machine, litestream, followedSinceMs: Date.now(), followedUntilMs };
}

/** Creates new plants. Half of the ids ascend, and half lie anywhere in int64. */
function startLoad(
  plantsUrl: () => string,
  journal: Journal,
  pauseMs: number,
  random: () => number,
) {
  let isOver = false;
  function newPlant(): Sent {
    const number = journal.size;
    const high = BigInt(Math.floor(random() * 2 ** 48)) << 16n;
    const anywhere = BigInt.asIntN(64, high | BigInt(number & 0xffff));
    const id = number % 2 === 0 ? `${number}` : `${anywhere}`;
    if (journal.has(id)) return newPlant();
    const plant = { id, name: `Plant ${number}`, tag: number % 3 === 0 ? undefined : 'Alnus' };
    const sent = { plant, sentAtMs: Date.now() };
    journal.set(id, sent);
    return sent;
  }
  const client = async () => {
    while (!isOver) {
      const isAnswered = await send(plantsUrl(), newPlant());
      // A service that is away would be asked again ten thousand times a second.
      if (!isAnswered) await pause();
      else if (pauseMs > 0) await delay(pauseMs);
    }
  };
  const ended = Promise.all(Array.from({ length: clients }, client));
  return {
    /** Resolves when no request is under way. */
    end() {
      isOver = true;
      return ended;
    },
  };
}

/** Notes whether the create was acknowledged. @returns the status; undefined without a reply */
async function send(plantsUrl: string, sent: Sent): Promise<number | undefined> {
  try {
    const reply = await create(plantsUrl, bodyOf(sent.plant));
    await reply.arrayBuffer();
    if (reply.status === 200) sent.acknowledgedAtMs ??= Date.now();
    return reply.status;
  } catch {
    // The connection was lost.
    return undefined;
  }
}

/** Compares a restored store with the journal. What is missing counts as not acknowledged from now. */
function compare(
  { store }: ReplicatedStore,
  journal: Journal,
  machine: Machine,
  lostAtMs: number,
): { missing: Sent[]; oldestMs: number; violations: string[] } {
  const violations: string[] = [];
  const stored = readStore(store, violations);
  for (const [id, plant] of stored) {
    const sent = journal.get(id)?.plant;
    if (sent === undefined) violations.push(`id ${id}: it is in the store and was never sent`);
    else if (sent.name !== plant.name || sent.tag !== plant.tag)
      violations.push(`id ${id}: the store holds ${JSON.stringify(plant)} instead of the plant`);
  }

  const missing: Sent[] = [];
  let firstMissingMs = lostAtMs;
  let lastStoredMs = 0;
  for (const [id, sent] of journal) {
    if (stored.has(id)) lastStoredMs = Math.max(lastStoredMs, sent.sentAtMs);
    else if (sent.acknowledgedAtMs !== undefined) {
      firstMissingMs = Math.min(firstMissingMs, sent.acknowledgedAtMs);
      missing.push(sent);
      sent.acknowledgedAtMs = undefined;
    }
  }
  const oldestMs = lostAtMs - firstMissingMs;
  // The restored store is the store of one moment.
  if (firstMissingMs < lastStoredMs)
    violations.push('a create is missing that was acknowledged before a stored create was sent');
  const { followedSinceMs, followedUntilMs } = machine;
  const wasFollowed = lostAtMs - followedSinceMs > windowMs;
  const safeUntilMs = (wasFollowed ? lostAtMs : followedUntilMs) - windowMs;
  if (firstMissingMs < safeUntilMs)
    violations.push(`a create is missing that was acknowledged ${oldestMs} ms before the loss`);
  return { missing, oldestMs, violations };
}

/** Sends creates again. All must get 200: clients cannot know which creates were lost. */
async function retry({ plantsUrl }: RunningServer, all: ReadonlySet<Sent>): Promise<string[]> {
  const violations: string[] = [];
  const left = all.values();
  const client = async () => {
    for (const sent of left) {
      const status = await send(plantsUrl, sent);
      if (status !== 200) violations.push(`a retry of ${bodyOf(sent.plant)} got ${status}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return violations;
}

await runAsCommand('litestream', { rounds: 50, 'life-ms': 5_000 }, async (run) => {
  const why = whyNoLitestream();
  if (why !== undefined) return { violations: [why], summary: 'nothing was run' };
  const { violations, agesMs } = await loseMachines(run);
  const ages = agesMs.sort((one, other) => one - other);
  const median = ages[Math.floor(ages.length / 2)];
  return {
    violations,
    summary: `${ages.length} machines were lost; the oldest lost create was ${median} ms old in the median round, and ${ages.at(-1)} ms at most`,
  };
});
