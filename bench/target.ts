/** A target as a real process with a store: filled, started, loaded, stopped and counted. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { programCommand } from '../src/program.ts';
import type { Load, LoadOrder, LoadResult } from './load-generator.ts';
import { fileOfPlants, type IdKind, idSequences } from './plant.ts';
import { type Target, targets } from './targets.ts';

const startMsMax = 15_000;
const stopMsMax = 15_000;
const outputCharsKept = 4_096;
/** Time for the disk to finish the writes of the target before. */
const settleMs = 500;
/** At the end of an open loop, a slow target may have a long queue. */
const overtimeMsMax = 60_000;
const overtimeFactorMax = 10;

const fixedToken = 'bench-token-0123456789abcdef0123456789abcdef';

export interface LoadedStore {
  /** Of its file, or the URL of its database. */
  path: string;
  ids: IdKind;
  /** Acknowledged plants, of loads and fills. */
  plants: number;
  /** The main process of the database server. */
  databasePid?: number;
}

export interface RunningTarget {
  pid: number;
  /** From the start of the process until it has printed its address. */
  startMs: number;
  /** Creates plants with ids that the store does not hold. */
  load(load: Load): Promise<LoadResult>;
}

/** Starts the target on the store, and stops it after `use`. */
export async function runTarget<T>(
  target: Target,
  store: LoadedStore,
  use: (running: RunningTarget) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const startedMs = performance.now();
  const child = startProcess(target, store.path, env);
  const { port, token } = await readAddress(target, child);
  const startMs = performance.now() - startedMs;
  const pid = child.pid ?? 0;
  const result = await use({
    pid,
    startMs,
    async load(load) {
      const { ids, plants, databasePid } = store;
      const firstId = idSequences[ids].firstOrdinal + plants;
      const { dialect } = target;
      const order = { ...load, port, token, targetPid: pid, databasePid, ids, dialect, firstId };
      const result = await generateLoad(order);
      store.plants += result.acknowledged;
      return result;
    },
  });
  await stopProcess(target, child);
  await sleep(settleMs);
  return result;
}

/** Runs the target on an empty store, and counts its plants at the end. */
export function runOnFreshStore<T>(
  target: Target,
  { directory, ids, env }: { directory: string; ids: IdKind; env?: Record<string, string> },
  use: (running: RunningTarget, store: LoadedStore) => Promise<T>,
): Promise<T> {
  return withFreshStore(directory, ids, async (store) => {
    const result = await runTarget(target, store, (running) => use(running, store), env);
    verifyCount(target, store);
    return result;
  });
}

/** `use` gets the path of a store that does not exist yet. The store is removed afterwards. */
export async function withFreshStore<T>(
  directory: string,
  ids: IdKind,
  use: (store: LoadedStore) => Promise<T>,
): Promise<T> {
  const storeDirectory = mkdtempSync(join(directory, 'store-'));
  const result = await use({ path: join(storeDirectory, 'data.db'), ids, plants: 0 });
  rmSync(storeDirectory, { recursive: true });
  return result;
}

/** @throws Error unless the store of the stopped target holds exactly the acknowledged plants */
export function verifyCount(target: Target, { path, plants }: LoadedStore): void {
  const stored = target.countStored?.(path) ?? plants;
  if (stored !== plants)
    throw new Error(`${target.label}: acknowledged ${plants} creates, but holds ${stored} plants`);
}

/** Starts the service once: no other command makes a store. */
export async function makeStore(store: LoadedStore): Promise<void> {
  if (!existsSync(store.path)) await runTarget(targets.service, store, async () => undefined);
}

/** Fills the store to `plants`. */
export async function fillStore(store: LoadedStore, plants: number): Promise<void> {
  const missing = plants - store.plants;
  await makeStore(store);
  if (missing <= 0) return;
  const ordinal = idSequences[store.ids].firstOrdinal + store.plants;
  const lines = fileOfPlants('ndjson', store.ids, ordinal, missing);
  await runCommand(['import', '-'], store, { input: Readable.from(lines) });
  store.plants = plants;
}

/**
 * Runs a command of the service on the store.
 *
 * @returns the time of the whole process, in ms
 * @throws Error unless it ends with 0
 */
export async function runCommand(
  words: string[],
  { path }: LoadedStore,
  { input, isInBackground }: { input?: Readable; isInBackground?: boolean } = {},
): Promise<number> {
  const startedMs = performance.now();
  const [program, ...first] = programCommand;
  const child = spawn(program, [...first, ...words, '--store', `sqlite:${path}`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const closed = once(child, 'close');
  if (isInBackground) setPriority(child.pid ?? 0, constants.priority.PRIORITY_BELOW_NORMAL);
  await pipeline(input ?? Readable.from([]), child.stdin);
  await closed;
  if (child.exitCode !== 0) throw new Error(`${words.join(' ')} has failed`);
  return performance.now() - startedMs;
}

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const { core, warmupMs, measureMs } = order;
  const script = join(import.meta.dirname, 'load-generator.ts');
  const keptToCore = core === undefined ? [] : ['taskset', '--cpu-list', `${core}`];
  const [program = '', ...args] = [...keptToCore, process.execPath, script, JSON.stringify(order)];
  const timeout = overtimeMsMax + overtimeFactorMax * (warmupMs + measureMs);
  const { stdout } = await promisify(execFile)(program, args, { timeout });
  return JSON.parse(stdout);
}

function startProcess(target: Target, storePath: string, env: Record<string, string>) {
  const [program = '', ...args] = target.command(storePath);
  const child = spawn(program, args, {
    // Without NODE_OPTIONS and the like: every target runs with the same flags.
    env: { PATH: process.env['PATH'], PLANT_STORE_TOKEN: fixedToken, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', killAtExit); // before the store is removed
  child.once('exit', () => process.off('exit', killAtExit));
  return child;
}

/** Resolves when the process has printed its address. */
async function readAddress(target: Target, child: ChildProcess) {
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<{ port: number; token: string }>();
  const fail = (why: string) => reject(new Error(`${target.label}: ${why}\n${output}`));
  const onOutput = (chunk: Buffer) => {
    output = (output + chunk).slice(-outputCharsKept);
    const address = /https?:\/\/127\.0\.0\.1:(\d+)\D/.exec(output);
    // A target that issues tokens of its own prints one before its address.
    const token = /^token (\S+)$/m.exec(output)?.[1] ?? fixedToken;
    if (address) resolve({ port: Number(address[1]), token });
  };
  child.stdout?.on('data', onOutput);
  child.stderr?.on('data', onOutput);
  child.once('error', (error) => fail(error.message));
  child.once('exit', (code) => fail(`exited with ${code} before it was ready`));
  const timer = setTimeout(() => fail(`not ready after ${startMsMax} ms`), startMsMax);
  return promise.finally(() => clearTimeout(timer));
}

/** Sends SIGTERM. Rejects unless the process then exits with 0. */
async function stopProcess(target: Target, child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(stopMsMax) });
  child.kill('SIGTERM');
  const [code] = await exited;
  if (code !== 0) throw new Error(`${target.label}: exited with ${code} on SIGTERM`);
}
