import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { holdsAll, type PlantComparison } from '../../src/store/comparison.ts';
import { comparePlants, immutableUrl } from '../../src/store/sqlite/comparison.ts';
import { diagnose } from '../../src/store/sqlite/repair.ts';
import { pageBytes, pageTypes } from '../helpers/damage.ts';
import { runProgram } from '../helpers/program.ts';
import { addPlants, makeStore } from '../helpers/store-file.ts';
import { seededRandom } from './workload.ts';

/*
 * Flips bits of a store, and looks whether a comparison with a backup finds each of them.
 *
 * First, in the names of many plants. A pass flips one bit in each of several plants, and one
 * comparison of all plants must name exactly these plants: the comparison of a plant does not depend
 * on other plants. With `--per-pass 1`, each flip has a comparison of its own. The first pass is the
 * command `verify --against`, and `repair` follows it.
 *
 * Then, anywhere in a small store. A scrub must find the bit, unless all plants are as before and
 * SQLite finds no fault: nothing reads the bit. Every tenth store with damage is repaired.
 */

export interface ScrubOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly plants: number;
  readonly tries: number;
  readonly perPass: number;
  /** Flips anywhere. */
  readonly anywhere: number;
  readonly seed: number;
  readonly report: (line: string) => void;
}

export async function flipAgainAndAgain(options: ScrubOptions): Promise<void> {
  const { folder, tries, anywhere, seed, report } = options;
  const random = seededRandom(seed);
  const store = await makePair(join(folder, 'large'), options.plants);
  report(`${options.plants} plants, ${statSync(store.path).size} bytes`);
  if (tries > 0) await tryCommands(store, options, random);
  for (let tried = options.perPass; tried < tries; tried += options.perPass) {
    const flips = flipNames(store.path, Math.min(options.perPass, tries - tried), random);
    const startedMs = performance.now();
    assert.deepEqual(
      changedIn(compare(store)),
      flips.map(({ id }) => id),
    );
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    for (const one of flips) flipBit(store.path, one);
    report(`${tried + flips.length} of ${tries} flips in names found; this pass took ${seconds} s`);
  }
  assert(holdsAll(compare(store)), 'no flip is left');
  const small = await makePair(join(folder, 'small'), 20_000);
  await flipAnywhere(small, anywhere, random, report);
}

/** A store, and a backup of the same plants. */
interface Pair {
  readonly path: string;
  readonly backup: string;
}

async function makePair(folder: string, plants: number): Promise<Pair> {
  mkdirSync(folder);
  const pair = { path: join(folder, 'plants.db'), backup: join(folder, 'backup.db') };
  makeStore(pair.path);
  addPlants(pair.path, plants, nameStart.length);
  await succeed(['backup', pair.backup, '--store', `sqlite:${pair.path}`]);
  return pair;
}

async function succeed(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Finds flips by `verify --against`, and puts them right by `repair`. */
async function tryCommands(
  { path, backup }: Pair,
  { tries, perPass, report }: ScrubOptions,
  random: () => number,
): Promise<void> {
  const store = ['--store', `sqlite:${path}`, '--json'];
  const flips = flipNames(path, Math.min(perPass, tries), random);
  const expected = flips.map(({ id }) => `${id}`);
  for (const args of [
    ['verify', '--against', backup],
    ['repair', '--from', backup],
  ]) {
    const startedMs = performance.now();
    const { stdout } = await runProgram([...args, ...store]);
    assert.deepEqual(JSON.parse(stdout).changed.ids, expected);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    report(`${args.slice(0, 2).join(' ')}: ${flips.length} flips in ${seconds} s`);
  }
  await succeed(['verify', '--against', backup, ...store]);
}

function compare({ path, backup }: Pair): PlantComparison {
  using db = new DatabaseSync(immutableUrl(path), { readOnly: true });
  const found = comparePlants(
    db,
    [backup],
    () => undefined,
    () => undefined,
  );
  assert('plants' in found);
  return found;
}

/** The changed plants. No plant is missing or unreadable. */
function changedIn({ changed, missing, unreadable }: PlantComparison): readonly bigint[] {
  assert.deepEqual([missing.count, unreadable.count], [0, 0]);
  assert.equal(changed.ids.length, changed.count);
  return changed.ids;
}

interface Flip {
  readonly offset: number;
  readonly mask: number;
}

const nameStart = 'x'.repeat(20);

/** Flips a bit in the names of different plants. @returns the flips in the order of the ids */
function flipNames(path: string, count: number, random: () => number): (Flip & { id: bigint })[] {
  const pages = statSync(path).size / pageBytes;
  const flips = new Map<bigint, Flip & { id: bigint }>();
  const page = Buffer.alloc(pageBytes);
  while (flips.size < count) {
    const start = Math.floor(random() * pages) * pageBytes;
    read(path, page, start);
    // A name ends with the id of its plant.
    const names = page[0] === pageTypes.leaf ? page.toString('latin1').matchAll(/x{20}(\d+)/g) : [];
    const all = [...names];
    const name = all[Math.floor(random() * all.length)];
    if (name === undefined) continue;
    const id = BigInt(name[1] as string);
    if (flips.has(id)) continue;
    const offset = start + name.index + Math.floor(random() * name[0].length);
    const flip = { id, offset, mask: 1 << Math.floor(random() * 8) };
    flipBit(path, flip);
    flips.set(id, flip);
  }
  return [...flips.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

function read(path: string, into: Buffer, position: number): void {
  const file = openSync(path, 'r');
  readSync(file, into, { position });
  closeSync(file);
}

function flipBit(path: string, { offset, mask }: Flip): void {
  const byte = Buffer.alloc(1);
  read(path, byte, offset);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of(byte.readUInt8() ^ mask), 0, 1, offset);
  closeSync(file);
}

async function flipAnywhere(
  pair: Pair,
  tries: number,
  random: () => number,
  report: (line: string) => void,
): Promise<void> {
  const { size } = statSync(pair.path);
  const counts = { found: 0, harmless: 0, repaired: 0 };
  for (let tried = 1; tried <= tries; tried += 1) {
    const offset = Math.floor(random() * size);
    const mask = 1 << Math.floor(random() * 8);
    flipBit(pair.path, { offset, mask });
    const { comparison, pageFaults } = diagnose(pair.path, [pair.backup], () => undefined);
    const isFound = pageFaults.length > 0 || 'fault' in comparison || !holdsAll(comparison);
    counts[isFound ? 'found' : 'harmless'] += 1;
    if (!isFound) assert(isEqual(pair), `bit ${mask} of byte ${offset} was not found`);
    else if (counts.found % 10 === 0) {
      await demandRepaired(pair, `bit ${mask} of byte ${offset}`);
      counts.repaired += 1;
    }
    flipBit(pair.path, { offset, mask });
    if (tried % 100 === 0) report(`${tried} flips anywhere: ${JSON.stringify(counts)}`);
  }
}

/** Whether both files have the same plants. Another way to compare than that of a scrub. */
function isEqual({ path, backup }: Pair): boolean {
  using db = new DatabaseSync(immutableUrl(path), { readOnly: true });
  db.prepare('ATTACH ? AS backup').run(backup);
  const differ = (one: string, other: string) =>
    db.prepare(`SELECT * FROM ${one}.plants EXCEPT SELECT * FROM ${other}.plants LIMIT 1`).get();
  return differ('main', 'backup') === undefined && differ('backup', 'main') === undefined;
}

async function demandRepaired({ path, backup }: Pair, what: string): Promise<void> {
  const copy = join(mkdtempSync(join(path, '../repair-')), 'plants.db');
  copyFileSync(path, copy);
  await succeed(['repair', '--from', backup, '--store', `sqlite:${copy}`]);
  assert(isEqual({ path: copy, backup }), `${what} was not repaired`);
  rmSync(join(copy, '..'), { recursive: true });
}

async function command(): Promise<void> {
  const { values } = parseArgs({
    options: {
      plants: { type: 'string', default: '10000000' },
      tries: { type: 'string', default: '1000' },
      'per-pass': { type: 'string', default: '50' },
      anywhere: { type: 'string', default: '1000' },
      seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
    },
  });
  const [plants, tries, perPass, anywhere, seed] = [
    ...[values.plants, values.tries, values['per-pass'], values.anywhere, values.seed],
  ].map(Number) as [number, number, number, number, number];
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-scrub-'));
  const startedMs = performance.now();
  const report = (line: string) => console.log(line);
  report(`seed ${seed}, in ${folder}`);
  await flipAgainAndAgain({ folder, plants, tries, perPass, anywhere, seed, report });
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  report(`PASSED: ${tries} flips in names, ${anywhere} anywhere, in ${seconds} s; seed ${seed}`);
  rmSync(folder, { recursive: true });
}

if (import.meta.main) await command();
