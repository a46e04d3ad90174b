import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { doneJson, on } from './run-here.ts';
import { newStore } from './store-file.ts';

/** The files in a folder, without the lock of its backups, and notes about failed syncs. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.includes('.lock') && !name.endsWith('.db-sync'))
    .sort();
}

export const hourMs = 3_600_000;
const rules = ['--keep', '2h:1h'];

/** A store with plants, an empty folder for backups, and a clock that the test moves. */
export async function newWorld(t: TestContext, plants = 5) {
  const store = await newStore(t, plants);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-23T12:00:00Z') });
  const backUp = (from = store, ...flags: string[]) => {
    t.mock.timers.tick(hourMs);
    const keep = flags.includes('--keep') ? [] : rules;
    return doneJson('backup', folder, ...keep, ...on(from), ...flags);
  };
  return { store, folder, backUp, clock: t.mock.timers };
}

export const backupsIn = (folder: string) =>
  namesIn(folder).filter((name) => name.endsWith('Z.db'));

export function lose(store: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(store + end, { force: true });
}
