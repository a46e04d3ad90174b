import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { Ended } from './program.ts';
import { type Owner, storePath, storeText } from './program.ts';
import { runHere } from './run-here.ts';
import { addToken, makeStore } from './store-file.ts';

/** A store with the given number of plants and the token `my-app`. */
export async function newStore(owner: Owner, plants = 3): Promise<string> {
  const path = await storePath(owner);
  makeStore(path, plants);
  addToken(path, 'my-app');
  return path;
}

export const on = (store: string) => ['--store', storeText(store)];

/** Runs a command here. @returns what it has printed @throws if it has failed */
export async function done(...args: string[]): Promise<Ended> {
  const ended = await runHere(args);
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** As `done`, with `--json`. */
export async function doneJson(...args: string[]) {
  return JSON.parse((await done(...args, '--json')).stdout);
}

/** Runs a command here, which must fail with one line that matches. */
export async function refused(line: RegExp, ...args: string[]): Promise<void> {
  failed(await runHere(args), line);
}

export function failed({ code, stderr }: Ended, line: RegExp, expectedCode = 1): void {
  assert.match(stderr, line);
  assert.match(stderr, /^plant-store: [^\n]+\n$/, 'one line');
  assert.equal(code, expectedCode);
}

/** The files in a folder, without the lock of its backups. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.includes('.lock'))
    .sort();
}
