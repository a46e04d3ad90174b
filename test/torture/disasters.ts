import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listBackups } from '../../src/backup/series.ts';
import { flip, offsetOf } from '../helpers/damage.ts';
import { startProgram } from '../helpers/program.ts';
import { done, on, runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore, openStoreAt } from '../helpers/store-file.ts';
import { readStore } from './check-journal.ts';
import { type Run, runAsCommand } from './command.ts';
import { seededRandom } from './workload.ts';

/*
 * The machine is gone at a random moment of a command, which is killed. Then the store, the backups
 * and the record of the last backup must be good, and the next run of the command must work and
 * leave nothing over. A kill of a service under load is what `history` and `disk/power.ts` are about.
 */

/** A store with its backups. */
interface World {
  readonly folder: string;
  readonly store: string;
  readonly backups: string;
  /** The store that a restore or an upgrade is about. */
  readonly other: string;
  /** In the store, with the ids from 1 on. Each round adds one. */
  plants: number;
}

const firstPlants = 2_000;
/** A larger world takes longer to check, and finds nothing more. */
const roundsPerWorld = 45;
const oldStore = fileURLToPath(new URL('../data/store-1.0.0.db', import.meta.url));
const keepAll = ['--keep', '1d:1ms'];

/** The command that is under way when the machine is lost, by the name of the disaster. */
const commands = {
  backup: ({ backups, store }) => ['backup', backups, ...keepAll, ...on(store)],
  'backup to a file': ({ backups, store }) => ['backup', backups, ...on(store)],
  thinning: ({ backups, store }) => ['backup', backups, '--keep', '1s:1s', ...on(store)],
  restore: ({ backups, other }) => ['restore', backups, '--overwrite', ...on(other)],
  upgrade: ({ other }) => ['upgrade', ...on(other)],
} satisfies Readonly<Record<string, (world: World) => string[]>>;
type Disaster = keyof typeof commands;
const disasters = Object.keys(commands) as Disaster[];

/**
 * The seed repeats the moments as far as the timing of processes can be repeated.
 *
 * @returns `violations` is empty, or has those of the last round; `underWay` counts the rounds in
 * which the command was still at work
 */
async function loseMachines({
  folder,
  seed,
  report,
  ...options
}: Run & { readonly rounds: number }) {
  const random = seededRandom(seed);
  const tookMs = new Map<Disaster, number>();
  let [rounds, underWay] = [0, 0];
  const violations: string[] = [];
  let world = await newWorld(join(folder, 'world-0'));
  while (rounds < options.rounds && violations.length === 0) {
    if (rounds > 0 && rounds % roundsPerWorld === 0) {
      rmSync(world.folder, { recursive: true });
      world = await newWorld(join(folder, `world-${rounds}`));
    }
    const disaster = disasters[(seed + rounds) % disasters.length] as Disaster;
    const before = await newestIn(world);
    const wasUnderWay = await loseMachine(world, disaster, tookMs, random);
    if (wasUnderWay) underWay += 1;
    rounds += 1;
    violations.push(...(await check(world, before, random)), ...(await runAgain(world, disaster)));
    report(`round ${rounds}: ${disaster}${wasUnderWay ? '' : ' (had ended)'}`);
  }
  if (violations.length === 0) violations.push(...(await blindness(world, random)));
  return { rounds, underWay, violations };
}

async function newWorld(folder: string): Promise<World> {
  const [store, backups] = [join(folder, 'plants.db'), join(folder, 'backups')];
  mkdirSync(backups, { recursive: true });
  makeStore(store, firstPlants);
  await done('backup', backups, ...keepAll, ...on(store));
  return { folder, store, backups, other: join(folder, 'other/plants.db'), plants: firstPlants };
}

async function newestIn({ backups }: Pick<World, 'backups'>): Promise<string | undefined> {
  return (await listBackups(backups)).at(-1)?.file;
}

/** Kills the command at a random moment. @returns whether it was at work still */
async function loseMachine(
  world: World,
  disaster: Disaster,
  tookMs: Map<Disaster, number>,
  random: () => number,
): Promise<boolean> {
  rmSync(join(world.other, '..'), { recursive: true, force: true });
  mkdirSync(join(world.other, '..'));
  if (disaster === 'upgrade') copyFileSync(oldStore, world.other);
  if (disaster === 'restore') await done('restore', world.backups, ...on(world.other));
  world.plants += 1;
  alterStore(world.store, `INSERT INTO plants VALUES (${world.plants}, 'Yew', NULL, 1, 0)`);
  await nextSecond();
  const startedMs = performance.now();
  const command = startProgram(commands[disaster](world));
  const ended = once(command, 'exit').then(() => performance.now() - startedMs);
  const endedAfterMs = await Promise.race([
    delay(random() * (tookMs.get(disaster) ?? 1_000)),
    ended,
  ]);
  command.kill('SIGKILL');
  await ended;
  // The next moment lies somewhere in the time that the command takes.
  tookMs.set(disaster, endedAfterMs ?? tookMs.get(disaster) ?? 1_500);
  return endedAfterMs === undefined;
}

/** Two backups of one second would have one name, and so would two replaced stores. */
const nextSecond = () => delay(1_000 - (Date.now() % 1_000));

/** Every listed backup is good: the newest, any other, and the one that the store names. */
async function check(world: World, before: string | undefined, random: () => number) {
  const violations: string[] = [];
  demandPlants(world.store, world.plants, violations);
  const listed = (await listBackups(world.backups)).map(({ file }) => file);
  const newest = listed.at(-1);
  if (newest === undefined || (before !== undefined && newest < before))
    return [...violations, `the last good backup ${before} is gone; the newest is ${newest}`];
  if (newest !== before && before !== undefined)
    demandPlants(join(world.backups, newest), world.plants, violations);
  await using store = await openStoreAt(world.store);
  const recorded = (await store.listBackups())[0]?.file;
  const any = listed[Math.floor(random() * listed.length)] ?? newest;
  const paths = [newest, any].map((file) => join(world.backups, file));
  for (const path of new Set([...paths, ...(recorded === undefined ? [] : [recorded])])) {
    const { code, stderr } = await runHere(['verify', path]);
    if (code !== 0) violations.push(stderr.trim());
  }
  return violations;
}

function demandPlants(path: string, plants: number, violations: string[]): void {
  const { size } = readStore(path, violations);
  if (size !== plants) violations.push(`${path} has ${size} of ${plants} plants`);
}

/** The next run of the command works, and leaves nothing over. */
async function runAgain(world: World, disaster: Disaster): Promise<string[]> {
  const args = commands[disaster](world);
  const violations: string[] = [];
  if (disaster === 'restore' && readStore(world.other, violations).size < firstPlants)
    violations.push(`the store at ${world.other} is neither the old one nor the new one`);
  await nextSecond();
  const { code, stderr } = await runHere(args);
  if (code !== 0) violations.push(`the next run has failed: ${stderr}`);
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
    says: /plants\.db has \d+ of \d+ plants/,
    damage: ({ store }: World) => alterStore(store, 'DELETE FROM plants WHERE id = 1000'),
  },
  {
    says: /\.db (is damaged|differs from its manifest)/,
    damage: (_: World, newest: string) => flip(newest, offsetOf(newest, 'xxxxxxxxxx1001')),
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

await runAsCommand('disasters', { rounds: 1_000 }, async (run) => {
  const { violations, ...counts } = await loseMachines(run);
  return { violations, summary: `losses of a machine: ${JSON.stringify(counts)}` };
});
