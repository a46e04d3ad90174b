import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readManifest } from '../../src/cli/backup/manifest.ts';
import { listBackups, partsOf } from '../../src/cli/backup/parts.ts';
import { fileLocation } from '../../src/store/location.ts';
import { openReader } from '../../src/stores.ts';
import { flip } from '../helpers/damage.ts';
import { besideOthers, commandLine, create, token } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore, openStoreAt } from '../helpers/store-file.ts';
import { readStore } from './check-journal.ts';
import { seededRandom } from './workload.ts';

/*
 * The machine is gone at a random moment of a command: the service and the command are killed at
 * once. Then the store, the backups and the record of the last backup are compared with what clients
 * were told, and the next run of the command must work and leave nothing over.
 */

export const disasters = [
  'create',
  'backup',
  'full backup',
  'thinning',
  'restore',
  'scrub',
  'repair',
  'drill',
  'upgrade',
] as const;
export type Disaster = (typeof disasters)[number];

/** What the run must find, or it is blind. */
export type Sabotage = 'a plant is lost' | 'a backup is damaged' | 'a record names no backup';

export interface DisasterOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly rounds: number;
  /** The place of the first disaster in the list; by default 0. Short runs begin anywhere. */
  readonly first?: number;
  /** Repeats the moments as far as the timing of processes can be repeated. */
  readonly seed: number;
  /** No round begins later. */
  readonly endMs?: number;
  /** Done after each loss of the machine, before the checks. */
  readonly sabotage?: Sabotage | undefined;
  readonly report: (line: string) => void;
}

export interface DisasterReport {
  readonly rounds: Readonly<Record<Disaster, number>>;
  /** Rounds in which the command was still at work. */
  readonly underWay: Readonly<Record<Disaster, number>>;
  readonly acknowledged: number;
  /** Backups that were verified after a loss. */
  readonly verified: number;
  /** The run ends at the first round that finds any. */
  readonly violations: readonly string[];
}

/** A store with its backups, and what clients were told. */
interface World {
  readonly folder: string;
  readonly store: string;
  readonly backups: string;
  /** By id: the name, and when the 200 arrived. */
  readonly acknowledged: Map<string, { readonly name: string; readonly atMs: number }>;
  sent: number;
}

/** A larger world takes longer to check, and finds nothing more. */
const roundsPerWorld = 45;
const firstPlants = 2_000;
const oldStore = fileURLToPath(new URL('../data/store-1.0.0.db', import.meta.url));
const keepAll = ['--keep', '1d:1ms'];

export async function loseMachines(options: DisasterOptions): Promise<DisasterReport> {
  const { folder, seed, sabotage, report, first = 0 } = options;
  const { endMs = Number.POSITIVE_INFINITY } = options;
  const random = seededRandom(seed);
  const none = () => Object.fromEntries(disasters.map((name) => [name, 0]));
  const rounds = none() as Record<Disaster, number>;
  const underWay = none() as Record<Disaster, number>;
  const tookMs = new Map<Disaster, number>();
  let [acknowledged, verified] = [0, 0];
  let world: World | undefined;
  for (let round = 0; round < options.rounds && performance.now() < endMs; round += 1) {
    if (round % roundsPerWorld === 0 || world === undefined) {
      if (world) acknowledged += world.acknowledged.size;
      world = await newWorld(join(folder, `world-${round}`));
    }
    const disaster = disasters[(first + round) % disasters.length] as Disaster;
    const violations: string[] = [];
    const before = listBackups(world.backups).at(-1);
    const wasUnderWay = await loseMachine(world, disaster, tookMs, random);
    rounds[disaster] += 1;
    if (wasUnderWay) underWay[disaster] += 1;
    if (sabotage) await sabotageWorld(world, sabotage);
    checkStore(world, violations);
    verified += await checkBackups(world, before?.path, random, violations);
    await runAgain(world, disaster, violations);
    report(`round ${round + 1}: ${disaster}${wasUnderWay ? '' : ' (had ended)'}`);
    if (violations.length > 0)
      return {
        ...{ rounds, underWay, acknowledged: acknowledged + world.acknowledged.size, verified },
        violations: violations.map((what) => `round ${round + 1}, ${disaster}: ${what}`),
      };
    if ((round + 1) % roundsPerWorld === 0) rmSync(world.folder, { recursive: true });
  }
  acknowledged += world?.acknowledged.size ?? 0;
  return { rounds, underWay, acknowledged, verified, violations: [] };
}

async function newWorld(folder: string): Promise<World> {
  const backups = join(folder, 'backups');
  mkdirSync(backups, { recursive: true });
  const world: World = {
    ...{ folder, store: join(folder, 'plants.db'), backups, acknowledged: new Map() },
    sent: firstPlants,
  };
  await using store = await openStoreAt(world.store);
  const plants = Array.from({ length: firstPlants }, (_, index) => {
    return { id: BigInt(index), name: nameOf(index), tag: undefined, createdBy: 0 };
  });
  await store.createPlants(plants);
  for (const { id, name } of plants) world.acknowledged.set(`${id}`, { name, atMs: 0 });
  await succeed(world, 'backup', world.backups, ...keepAll);
  return world;
}

const nameOf = (id: number) => `plant ${id} ${'leaf '.repeat(id % 9)}`;

/** The commands of a disaster, of which the last is under way when the machine is lost. */
function commandOf({ backups, store, folder }: World, disaster: Disaster): string[] | undefined {
  const on = (path: string) => ['--store', `sqlite:${path}`];
  const other = join(folder, 'other', 'plants.db');
  switch (disaster) {
    case 'create':
      return undefined;
    case 'backup':
      return ['backup', backups, ...keepAll, ...on(store)];
    case 'full backup':
      return ['backup', backups, ...on(store)];
    case 'thinning':
      return ['backup', backups, '--keep', '1s:1s', ...on(store)];
    case 'scrub':
      return ['verify', '--against', backups, ...on(store)];
    case 'drill':
      return ['drill', backups, ...on(store)];
    case 'restore':
      return ['restore', backups, '--overwrite', ...on(other)];
    case 'repair':
      return ['repair', '--from', backups, ...on(other)];
    case 'upgrade':
      return ['serve', '--port', '0', ...on(other)];
    default:
      return disaster satisfies never;
  }
}

/** Kills everything at a random moment of the command. @returns whether it was at work still */
async function loseMachine(
  world: World,
  disaster: Disaster,
  tookMs: Map<Disaster, number>,
  random: () => number,
): Promise<boolean> {
  await prepare(world, disaster);
  const load = await startLoad(world);
  await nextSecond(world);
  const args = commandOf(world, disaster);
  const startedMs = performance.now();
  const command = args && start(args);
  const ended = command && once(command, 'exit').then(() => performance.now() - startedMs);
  const untilMs = random() * (tookMs.get(disaster) ?? 1_000);
  const endedAfterMs = await Promise.race([delay(untilMs), ended]);
  if (command) killGroup(command);
  killGroup(load.child);
  await Promise.all([load.ended, ended]);
  // The next moment lies somewhere in the time that the command takes.
  if (endedAfterMs !== undefined) tookMs.set(disaster, endedAfterMs);
  else if (!tookMs.has(disaster)) tookMs.set(disaster, 1_500);
  return endedAfterMs === undefined;
}

/** The store that a restore, a repair or an upgrade is about, in a folder of its own. */
async function prepare(world: World, disaster: Disaster): Promise<void> {
  const other = join(world.folder, 'other');
  rmSync(other, { recursive: true, force: true });
  mkdirSync(other);
  const path = join(other, 'plants.db');
  if (disaster === 'upgrade') copyFileSync(oldStore, path);
  if (disaster !== 'restore' && disaster !== 'repair') return;
  await succeed({ ...world, store: path }, 'restore', world.backups);
  if (disaster === 'restore') alterStore(path, `DELETE FROM plants WHERE id >= ${firstPlants}`);
  else alterStore(path, `UPDATE plants SET name = 'damaged' WHERE id % 997 = 5`);
}

interface Load {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** A service, and clients that note each 200. */
async function startLoad(world: World): Promise<Load> {
  const child = start(['serve', '--port', '0', '--http-threads', '1', ...storeOf(world)]);
  const exit = once(child, 'exit');
  let isOver = false;
  void exit.then(() => {
    isOver = true;
  });
  const url = await readyUrl(child);
  const client = async () => {
    while (!isOver) {
      const id = world.sent;
      world.sent += 1;
      const name = nameOf(id);
      const status = await statusOf(create(url, { id, name }));
      if (status === 200) world.acknowledged.set(`${id}`, { name, atMs: Date.now() });
      else assert.equal(status, 0, 'the service refused a plant');
      await delay(5);
    }
  };
  return { child, ended: Promise.all([exit, client(), client()]) };
}

/** 0 if the connection was lost. */
async function statusOf(reply: Promise<Response>): Promise<number> {
  try {
    const { status } = await reply;
    return status;
  } catch {
    return 0;
  }
}

async function readyUrl(child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const chunk of child.stderr?.iterator({ destroyOnReturn: false }) ?? []) {
    printed += chunk;
    const url = /http:[^"]*\/plants/.exec(printed)?.[0];
    if (url && printed.includes('"ready"')) {
      child.stderr?.resume();
      return url;
    }
  }
  throw new Error(`the service did not start: ${printed}`);
}

/** A process group of its own, so that a drill dies with its service. */
function start(args: readonly string[]): ChildProcess {
  const [file, rest] = commandLine(...args);
  const env = { PATH: process.env['PATH'], ...besideOthers, PLANT_STORE_TOKEN: token };
  return spawn(file, rest, { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}

const storeOf = ({ store }: Pick<World, 'store'>) => ['--store', `sqlite:${store}`];

async function succeed(world: World, ...args: string[]): Promise<void> {
  const { code, stderr } = await runHere([...args, ...storeOf(world)]);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
}

/** Two backups of one second would have one name. */
async function nextSecond({ backups }: World): Promise<void> {
  const newestMs = listBackups(backups).at(-1)?.at.valueOf() ?? 0;
  await delay(Math.max(0, newestMs + 1_000 - Date.now()));
}

function checkStore({ store, acknowledged }: World, violations: string[]): void {
  const stored = readStore(store, violations);
  for (const [id, { name }] of acknowledged)
    if (stored.get(id)?.name !== name)
      violations.push(
        `the plant ${id} was acknowledged, and the store has ${stored.get(id)?.name}`,
      );
}

/**
 * Every backup that is listed is good: the newest, any other, and the one that the store names.
 *
 * @returns how many were verified
 */
async function checkBackups(
  world: World,
  before: string | undefined,
  random: () => number,
  violations: string[],
): Promise<number> {
  const listed = listBackups(world.backups);
  const newest = listed.at(-1)?.path;
  if (newest === undefined || (before !== undefined && basename(newest) < basename(before))) {
    violations.push(`the last good backup ${before} is gone; the newest is ${newest}`);
    return 0;
  }
  await using store = await openReader(fileLocation(world.store), 10_000);
  const recorded = (await store.listBackups())[0]?.file;
  const any = listed[Math.floor(random() * listed.length)]?.path;
  const paths = new Set([newest, any, recorded].filter((path) => path !== undefined));
  for (const path of paths) await checkBackup(world, path, violations);
  return paths.size;
}

async function checkBackup(world: World, path: string, violations: string[]): Promise<void> {
  const { code, stderr } = await runHere(['verify', path]);
  if (code !== 0) return void violations.push(stderr.trim());
  const held = new Map(partsOf(path).flatMap((part) => [...readStore(part, violations)]));
  const begunMs = Date.parse(readManifest(path)?.createdAt ?? '');
  for (const [id, { name, atMs }] of world.acknowledged)
    if (atMs < begunMs && held.get(id)?.name !== name)
      violations.push(`${path} lacks the plant ${id}, which was acknowledged before it began`);
}

/** The next run of the command works, and leaves nothing over. */
async function runAgain(world: World, disaster: Disaster, violations: string[]): Promise<void> {
  const args = commandOf(world, disaster);
  if (args === undefined) return;
  const other = join(world.folder, 'other', 'plants.db');
  if (existsSync(join(world.folder, 'other')) && ['restore', 'repair'].includes(disaster)) {
    // One of two stores stands there, and is whole.
    if (readStore(other, violations).size < firstPlants)
      violations.push(`the store at ${other} is neither the old one nor the new one`);
  }
  // A replaced store gets the time as its name, too.
  await delay(1_000 - (Date.now() % 1_000));
  if (disaster === 'upgrade') await startAgain(args);
  else {
    const { code, stderr } = await runHere(args);
    if (code !== 0) violations.push(`the next run has failed: ${stderr}`);
  }
  if (disaster === 'upgrade') checkUpgraded(other, violations);
  if (disaster === 'restore' || disaster === 'repair') checkRestored(world, other, violations);
  const left = readdirSync(world.backups).filter((name) => /unfinished(-\w+)?$/.test(name));
  for (const file of left) {
    if (file === '.plants.unfinished' && ['backup', 'thinning', 'drill'].includes(disaster))
      violations.push(`${file} was left over`);
    // A killed backup without --keep leaves its folder, as the page says.
    else if (file.includes('.unfinished-')) rmSync(join(world.backups, file), { recursive: true });
  }
}

async function startAgain(args: readonly string[]): Promise<void> {
  const child = start(args);
  const exit = once(child, 'exit');
  await readyUrl(child);
  child.kill('SIGTERM');
  await exit;
}

function checkUpgraded(path: string, violations: string[]): void {
  const upgraded = readStore(path, violations);
  for (const [id, plant] of readStore(oldStore, violations))
    if (upgraded.get(id)?.name !== plant.name)
      violations.push(`the upgraded store lacks the plant ${id}`);
}

function checkRestored(world: World, path: string, violations: string[]): void {
  const restored = readStore(path, violations);
  const newest = listBackups(world.backups).at(-1)?.path ?? '';
  for (const part of partsOf(newest))
    for (const [id, plant] of readStore(part, violations))
      if (restored.get(id)?.name !== plant.name)
        violations.push(`${path} lacks the plant ${id} of ${newest}`);
}

async function sabotageWorld(world: World, sabotage: Sabotage): Promise<void> {
  if (sabotage === 'a plant is lost')
    return alterStore(world.store, `DELETE FROM plants WHERE id = ${firstPlants / 2}`);
  if (sabotage === 'a backup is damaged')
    return flip(listBackups(world.backups).at(-1)?.path ?? '', 20_000);
  await using store = await openStoreAt(world.store);
  const file = join(world.backups, 'plants-20200101T000000Z.db');
  await store.recordBackup({ file, finishedAtMs: Date.now(), plants: 1, digest: '' });
}

async function command(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '1000' },
      minutes: { type: 'string', default: '600' },
      seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
    },
  });
  const [rounds, minutes, seed] = [values.rounds, values.minutes, values.seed].map(Number) as [
    number,
    number,
    number,
  ];
  assert(rounds > 0 && minutes > 0, 'usage: disasters.ts [--rounds N] [--minutes N] [--seed N]');
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-disasters-'));
  console.log(`${rounds} losses of a machine, seed ${seed}, in ${folder}`);
  const startedMs = performance.now();
  const endMs = startedMs + minutes * 60_000;
  const first = seed % disasters.length;
  const done = await loseMachines({ folder, rounds, first, seed, endMs, report: console.log });
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  console.log(`machines lost, by command: ${JSON.stringify(done.rounds)}`);
  console.log(`of these, with the command at work: ${JSON.stringify(done.underWay)}`);
  const total = Object.values(done.rounds).reduce((sum, count) => sum + count);
  for (const violation of done.violations.slice(0, 20)) console.log(`VIOLATION ${violation}`);
  if (done.violations.length > 0) {
    console.log(`FAILED after ${total} losses; seed ${seed}; the files are in ${folder}`);
    return 1;
  }
  console.log(
    `PASSED: ${total} losses in ${seconds} s, ${done.acknowledged} acknowledged plants, ${done.verified} verified backups; seed ${seed}`,
  );
  rmSync(folder, { recursive: true });
  return 0;
}

if (import.meta.main) process.exitCode = await command();
