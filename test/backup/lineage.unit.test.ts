import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  compareWithSeries,
  fullest,
  listHoldings,
  lostOf,
  removable,
} from '../../src/backup/lineage.ts';
import type { BackupFigures } from '../../src/backup/manifest.ts';
import { type BackupInSeries, nextInSeries } from '../../src/backup/series.ts';
import { retention } from '../../src/cli/flags/values.ts';
import { seededRandom } from '../torture/workload.ts';

/*
 * The series of backups alone, over a year. The plants of a store are a set of ids, and a backup is
 * compared as the command does, but without files.
 */

const hourMs = 3_600_000;
const stepMs = 12 * hourMs;
const rules = retention('1d:12h,30d:1d,1y:1w');
const place = 'host:/data/plants.db';

function figuresOf(plants: ReadonlySet<number>): BackupFigures {
  const digest = createHash('sha256')
    .update(`${[...plants].sort()}`)
    .digest('hex');
  return {
    plants: plants.size,
    digest,
    largestId: null,
    schemaVersion: 11,
    identity: '',
    bytes: 0,
    sha256: '',
  };
}

function newFolder() {
  const contents = new Map<string, ReadonlySet<number>>();
  let series: BackupInSeries[] = [];
  let read = 0;
  const contentOf = ({ file }: BackupInSeries) => contents.get(file) ?? new Set<number>();
  return {
    /** Backups that were read since the last call. */
    read() {
      const count = read;
      read = 0;
      return count;
    },
    /** Makes a backup, and removes what no rule keeps. @returns what is lost */
    async backUp(identity: string, plants: ReadonlySet<number>, atMs: number): Promise<number> {
      const figures = { ...figuresOf(plants), identity };
      const compared = await compareWithSeries(figures, series, async (backup) => {
        read += 1;
        return contentOf(backup).isSubsetOf(plants) ? 'held' : 'lacking';
      });
      const { clockMs, seriesMs } = nextInSeries(series, atMs);
      const at = new Date(atMs);
      const manifest = {
        ...{ ...figures, ...listHoldings(compared, series), place, version: '' },
        createdAt: at.toISOString(),
      };
      const file = `plants-${atMs}.db`;
      contents.set(file, new Set(plants));
      const lost = lostOf(compared.lacks, [], { place }, series);
      series = [...series, { store: 'plants', at, file, clockMs, seriesMs, manifest }];
      const gone = removable(series, rules).map(({ backup }) => backup);
      series = series.filter((backup) => !gone.includes(backup));
      return lost.length;
    },
    entries: () => series.map((backup) => [backup, contentOf(backup)] as const),
    copyFrom(other: { entries(): (readonly [BackupInSeries, ReadonlySet<number>])[] }): void {
      for (const [backup, content] of other.entries()) {
        contents.set(backup.file, content);
        series = [backup, ...series];
      }
    },
    count: () => series.length,
    fullest: () => fullest(series).map(contentOf),
  };
}

for (const seed of [1, 2])
  test(`in a year of backups, a store that is lost at a random moment is in the folder at its end (${seed})`, async () => {
    const random = seededRandom(seed);
    const steps = 365 * 2;
    const lostAt = Math.floor(random() * steps);
    const folder = newFolder();
    let plants = new Set<number>();
    let all = new Set<number>();
    for (let step = 0; step < steps; step += 1) {
      if (step === lostAt) [all, plants] = [plants, new Set()];
      if (random() < 0.5) plants.add(step);
      const lost = await folder.backUp(step < lostAt ? 'one' : 'two', plants, step * stepMs);
      assert.equal(lost > 0, step >= lostAt && all.size > 0, `step ${step}`);
    }
    assert(folder.fullest().some((content) => all.isSubsetOf(content)));
    // Both branches go on being thinned.
    assert(folder.count() < 2 + 30 + 53 + 10, `${folder.count()} backups`);
  });

test('ten plants that are lost while ten others come are told, and stay in the folder, and few backups are read for it', async () => {
  const folder = newFolder();
  const plants = new Set<number>();
  for (let step = 0; step < 100; step += 1) {
    plants.add(step);
    assert.equal(await folder.backUp('one', plants, step * stepMs), 0);
  }
  assert(folder.read() < 100);
  const before = new Set(plants);
  for (let id = 50; id < 60; id += 1) {
    plants.delete(id);
    plants.add(id + 1_000);
  }
  assert((await folder.backUp('one', plants, 100 * stepMs)) > 0);
  assert(folder.read() <= 7);
  for (let step = 101; step < 300; step += 1) {
    plants.add(step + 2_000);
    assert((await folder.backUp('one', plants, step * stepMs)) > 0);
  }
  assert(folder.fullest().some((content) => before.isSubsetOf(content)));
  for (const id of before) plants.add(id);
  assert.equal(await folder.backUp('one', plants, 300 * stepMs), 0);
});

test('earlier backups that come back into a folder are compared before one is removed', async () => {
  const [lost, folder] = [newFolder(), newFolder()];
  const before = new Set([1, 2, 3]);
  await lost.backUp('one', before, 0);
  const plants = new Set([4]);
  const backUp = (step: number) => folder.backUp('two', plants.add(step), step * stepMs);
  for (let step = 100; step < 110; step += 1) assert.equal(await backUp(step), 0);
  folder.copyFrom(lost);
  for (let step = 110; step < 200; step += 1) assert((await backUp(step)) > 0);
  assert(folder.fullest().some((content) => before.isSubsetOf(content)));
});
