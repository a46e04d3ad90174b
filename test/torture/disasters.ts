import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../../src/backup/manifest.ts';
import { listBackups } from '../../src/backup/series.ts';
import { flip, offsetOf } from '../helpers/damage.ts';
import { create, type Owner, oneThread, startProgram, startServer } from '../helpers/program.ts';
import { done, on, runHere } from '../helpers/run-here.ts';
import { alterStore, openStoreAt } from '../helpers/store-file.ts';
import { readStore } from './check-journal.ts';
import { type Run, runAsCommand } from './command.ts';
import { seededRandom } from './workload.ts';

/*
 * The machine is gone at a random moment of a command: the service and the command are killed at
 * once. Then the store, the backups and the record of the last backup are compared with what clients
 * were told, and the next run of the command must work and leave nothing over.
 */

/** A store with its backups, and what clients were told. */
interface World {
  readonly folder: string;
  readonly store: string;
  readonly backups: string;
  /** The store that a restore or an upgrade is about. */
  readonly other: string;
  /** By id: the name, and when the 200 arrived. */
  readonly acknowledged: Map<string, { readonly name: string; readonly atMs: number }>;
  sent: number;
}

const firstPlants = 2_000;
/** A larger world takes longer to check, and finds nothing more. */
const roundsPerWorld = 45;
const oldStore = fileURLToPath(new URL('../data/store-1.0.0.db', import.meta.url));
const keepAll = ['--keep', '1d:1ms'];
const nameOf = (id: number) => `plant ${id} ${'leaf '.repeat(id % 9)}`;

/**
 * The seed repeats the moments as far as the timing of processes can be repeated.
 *
 * @returns `violations` is empty, or has those of the last round; `underWay` counts the rounds in
 * which the command was still at work
 */
export async function loseMachines(options: Run & { readonly rounds: number }) {
  const { folder, owner, seed, report } = options;
  const random = seededRandom(seed);
  const tookMs = new Map<Disaster, number>();
  let [rounds, underWay, acknowledged] = [0, 0, 0];
  const violations: string[] = [];
  let world = await newWorld(join(folder, 'world-0'));
  while (rounds < options.rounds && violations.length === 0) {
    if (rounds > 0 && rounds % roundsPerWorld === 0) {
      acknowledged += world.acknowledged.size;
      rmSync(world.folder, { recursive: true });
      world = await newWorld(join(folder, `world-${rounds}`));
    }
    const disaster = disasters[(seed + rounds) % disasters.length] as Disaster;
    const before = await newestIn(world);
    const wasUnderWay = await loseMachine(owner, world, disaster, tookMs, random);
    if (wasUnderWay) underWay += 1;
    rounds += 1;
    violations.push(...(await check(world, before, random)));
    violations.push(...(await runAgain(owner, world, disaster)));
    report(`round ${rounds}: ${disaster}${wasUnderWay ? '' : ' (had ended)'}`);
  }
  if (violations.length === 0) violations.push(...(await blindness(world, random)));
  return { rounds, underWay, acknowledged: acknowledged + world.acknowledged.size, violations };
}

async function newWorld(folder: string): Promise<World> {
  const [store, other] = [join(folder, 'plants.db'), join(folder, 'other/plants.db')];
  const backups = join(folder, 'backups');
  mkdirSync(backups, { recursive: true });
  const acknowledged: World['acknowledged'] = new Map();
  const plants = Array.from({ length: firstPlants }, (_, index) => {
    return { id: BigInt(index), name: nameOf(index), tag: undefined, createdBy: 0 };
  });
  {
    await using opened = await openStoreAt(store);
    await opened.createPlants(plants);
  }
  for (const { id, name } of plants) acknowledged.set(`${id}`, { name, atMs: 0 });
  await done('backup', backups, ...keepAll, ...on(store));
  return { folder, store, backups, other, acknowledged, sent: firstPlants };
}

async function newestIn({ backups }: World): Promise<string | undefined> {
  return (await listBackups(backups)).at(-1)?.file;
}

/** The command that is under way when the machine is lost, by the name of the disaster. */
const commands = {
  create: () => undefined,
  backup: ({ backups, store }) => ['backup', backups, ...keepAll, ...on(store)],
  'backup to a file': ({ backups, store }) => ['backup', backups, ...on(store)],
  thinning: ({ backups, store }) => ['backup', backups, '--keep', '1s:1s', ...on(store)],
  restore: ({ backups, other }) => ['restore', backups, '--overwrite', ...on(other)],
  upgrade: ({ other }) => ['serve', '--port', '0', ...on(other)],
} satisfies Readonly<Record<string, (world: World) => string[] | undefined>>;
type Disaster = keyof typeof commands;
const disasters = Object.keys(commands) as Disaster[];

/** Kills everything at a random moment of the command. @returns whether it was at work still */
async function loseMachine(
  owner: Owner,
  world: World,
  disaster: Disaster,
  tookMs: Map<Disaster, number>,
  random: () => number,
): Promise<boolean> {
  rmSync(join(world.other, '..'), { recursive: true, force: true });
  mkdirSync(join(world.other, '..'));
  if (disaster === 'upgrade') copyFileSync(oldStore, world.other);
  if (disaster === 'restore') await done('restore', world.backups, ...on(world.other));
  const load = await startLoad(owner, world);
  await nextSecond();
  const args = commands[disaster](world);
  const startedMs = performance.now();
  const command = args && startProgram(args);
  const ended = command && once(command, 'exit').then(() => performance.now() - startedMs);
  const untilMs = random() * (tookMs.get(disaster) ?? 1_000);
  const endedAfterMs = await Promise.race([delay(untilMs), ended]);
  for (const child of [command, load.child]) child?.kill('SIGKILL');
  await Promise.all([load.ended, ended]);
  // The next moment lies somewhere in the time that the command takes.
  tookMs.set(disaster, endedAfterMs ?? tookMs.get(disaster) ?? 1_500);
  return endedAfterMs === undefined;
}

/** Two backups of one second would have one name, and so would two replaced stores. */
const nextSecond = () => delay(1_000 - (Date.now() % 1_000));

/** A service, and clients that note each 200. */
async function startLoad(owner: Owner, world: World) {
  const { child, plantsUrl } = await startServer(owner, world.store, oneThread);
  const exit = once(child, 'exit');
  let isOver = false;
  void exit.then(() => (isOver = true));
  const client = async () => {
    while (!isOver) {
      const id = world.sent;
      world.sent += 1;
      const name = nameOf(id);
      // Undefined: the connection was lost. A busy machine may refuse some.
      const status = await create(plantsUrl, { id, name }).then(
        (reply) => reply.status,
        () => undefined,
      );
      if (status === 200) world.acknowledged.set(`${id}`, { name, atMs: Date.now() });
      else assert([undefined, 503].includes(status), `the service refused a plant: ${status}`);
      await delay(5);
    }
  };
  return { child, ended: Promise.all([exit, client(), client()]) };
}

/**
 * The store has what was acknowledged, and every listed backup is good: the newest, any other, and
 * the one that the store names.
 */
async function check(world: World, before: string | undefined, random: () => number) {
  const violations: string[] = [];
  const stored = readStore(world.store, violations);
  for (const [id, { name }] of world.acknowledged)
    if (stored.get(id)?.name !== name)
      violations.push(
        `the plant ${id} was acknowledged, and the store has ${stored.get(id)?.name}`,
      );
  const listed = (await listBackups(world.backups)).map(({ file }) => file);
  const newest = listed.at(-1);
  if (newest === undefined || (before !== undefined && newest < before))
    return [...violations, `the last good backup ${before} is gone; the newest is ${newest}`];
  await using store = await openStoreAt(world.store);
  const recorded = (await store.listBackups())[0]?.file;
  const any = listed[Math.floor(random() * listed.length)] ?? newest;
  const paths = [newest, any].map((file) => join(world.backups, file));
  for (const path of new Set([...paths, recorded ?? '']))
    if (path !== '') await checkBackup(world, path, violations);
  return violations;
}

async function checkBackup(world: World, path: string, violations: string[]): Promise<void> {
  const { code, stderr } = await runHere(['verify', path]);
  if (code !== 0) return void violations.push(stderr.trim());
  const begunMs = Date.parse(Object(await readManifest(path)).createdAt);
  const held = readStore(path, violations);
  for (const [id, { name, atMs }] of world.acknowledged)
    if (atMs < begunMs && held.get(id)?.name !== name)
      violations.push(`${path} lacks the plant ${id}, which was acknowledged before it began`);
}

/** The next run of the command works, and leaves nothing over. */
async function runAgain(owner: Owner, world: World, disaster: Disaster): Promise<string[]> {
  const args = commands[disaster](world);
  if (args === undefined) return [];
  const violations: string[] = [];
  if (disaster === 'restore' && readStore(world.other, violations).size < firstPlants)
    violations.push(`the store at ${world.other} is neither the old one nor the new one`);
  await nextSecond();
  if (disaster === 'upgrade') await (await startServer(owner, world.other, oneThread)).stop();
  else {
    const { code, stderr } = await runHere(args);
    if (code !== 0) violations.push(`the next run has failed: ${stderr}`);
  }
  if (disaster === 'upgrade') demandAll(oldStore, world.other, violations);
  if (disaster === 'restore')
    demandAll(join(world.backups, `${await newestIn(world)}`), world.other, violations);
  for (const file of readdirSync(world.backups)) {
    // A killed backup without --keep leaves its folder, as the page says.
    if (file.includes('.unfinished-')) rmSync(join(world.backups, file), { recursive: true });
    else if (file === '.plants.unfinished' && args.includes('--keep'))
      violations.push(`${file} was left over`);
  }
  return violations;
}

function demandAll(source: string, path: string, violations: string[]): void {
  const found = readStore(path, violations);
  for (const [id, plant] of readStore(source, violations))
    if (found.get(id)?.name !== plant.name)
      violations.push(`${path} lacks the plant ${id} of ${source}`);
}

/** What the run must find, or it is blind. */
const sabotages = [
  {
    says: /the plant 1000 was acknowledged, and the store has undefined/,
    damage: ({ store }: World) => alterStore(store, 'DELETE FROM plants WHERE id = 1000'),
  },
  {
    says: /\.db (is damaged|differs from its manifest)/,
    damage: (_: World, newest: string) => flip(newest, offsetOf(newest, nameOf(1_001))),
  },
  {
    says: /there is no file .*plants-20200101T000000Z\.db to verify/,
    async damage({ store, backups }: World) {
      await using opened = await openStoreAt(store);
      const file = join(backups, 'plants-20200101T000000Z.db');
      await opened.recordBackup({ file, finishedAtMs: Date.now(), plants: 1, digest: '' });
    },
  },
];

async function blindness(world: World, random: () => number): Promise<string[]> {
  const blind: string[] = [];
  const newest = join(world.backups, `${await newestIn(world)}`);
  for (const { says, damage } of sabotages) {
    await damage(world, newest);
    const found = await check(world, undefined, random);
    if (!found.some((what) => says.test(what))) blind.push(`the run does not find ${says}`);
  }
  return blind;
}

if (import.meta.main)
  await runAsCommand('disasters', { rounds: 1_000 }, async (run) => {
    const { violations, ...counts } = await loseMachines(run);
    return { violations, summary: `losses of a machine: ${JSON.stringify(counts)}` };
  });
