import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { nameIn } from '../helpers/pause.ts';
import { type Ended, programInShell, startInTest, temporaryFolder } from '../helpers/program.ts';
import { on, runHere } from '../helpers/run-here.ts';
import { makeStore, storedPlants } from '../helpers/store-file.ts';

/** A file of the given content in a folder of its own, and an empty store beside it. */
export async function fileFor(t: TestContext, name: string, content: string | Uint8Array) {
  const folder = await temporaryFolder(t);
  const file = join(folder, name);
  writeFileSync(file, content);
  const store = join(folder, 'store/plants.db');
  makeStore(store);
  return { file, store, report: `${file}.refused.ndjson` };
}

export function run(store: string, ...args: string[]): Promise<Ended> {
  return runHere([...args, ...on(store)]);
}

/** The lines that an import ends with, by name. */
export function counts({ stdout }: Ended): Record<string, number> {
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
      .map(([name, count]) => [name, Number(count)]),
  );
}

/** Runs lines of bash in which `plant-store` is the program on the store. */
export function shell(store: string, script: string): Ended {
  const program = `set -o pipefail; plant-store() { ${programInShell} "$@" --store "sqlite:$STORE"; }; ${script}`;
  const cwd = dirname(dirname(store));
  const options = { cwd, env: { ...process.env, STORE: store }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', program], options);
  return { code: status, stdout, stderr };
}

/** A file of plants with the ids from 1 to `count`. The first line is refused. */
export function manyPlants(count: number): string {
  return `no plant\n${Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":"plant ${index + 1}","tag":"many"}\n`).join('')}`;
}

/** After a refused line, the import stands still: it is not over when the signal comes. */
const slowly = withLimits({ transfer: { importPauseMs: 60_000 } });

/** Starts an import of many plants, and sends the signal when it has refused the first line. */
export async function interruptedImport(t: TestContext, signal: NodeJS.Signals) {
  const { file, store, report } = await fileFor(t, 'plants.ndjson', manyPlants(50_000));
  const appeared = nameIn(dirname(file), (name) => name.startsWith(basename(report)));
  const { child, ended } = startInTest(t, ['import', file, ...on(store)], slowly);
  await appeared;
  child.kill(signal);
  const printed = await ended;
  assert.equal(child.signalCode, signal);
  const { length } = storedPlants(store);
  assert(length > 0 && length < 50_000, `${length}`);
  return { ...printed, file, store, report, length };
}
