/** A target with a store, under a sequence of loads. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Load, LoadOrder, LoadResult } from './generator/order.ts';
import { type IdKind, idSequences } from './ids.ts';
import { startTarget, token } from './target-process.ts';
import type { Target } from './targets.ts';

/** Time for the disk to finish the writes of the target before. */
const settleMs = 500;
/** At the end of an open loop, a slow target may have a long queue. */
const overtimeMsMax = 60_000;
const overtimeFactorMax = 10;

export interface LoadedStore {
  /** Of its file, or the URL of its database. */
  path: string;
  ids: IdKind;
  /** Acknowledged plants, of loads and fills. */
  plants: number;
  /** The main process of the database server. */
  databasePid?: number;
}

export interface TargetUnderLoad {
  pid: number;
  port: number;
  /** Creates plants with ids that the store does not hold. */
  load(load: Load): Promise<LoadResult>;
}

/** Starts the target on the store, and stops it after `use`. */
export async function runTarget<T>(
  target: Target,
  store: LoadedStore,
  use: (target: TargetUnderLoad) => Promise<T>,
): Promise<T> {
  const made = await target.prepare?.(store.path);
  const tokens = made?.tokens === undefined ? token : { file: `${store.path}.tokens.json` };
  if (typeof tokens !== 'string') writeFileSync(tokens.file, JSON.stringify(made?.tokens));
  const running = await Promise.all(
    Array.from({ length: target.nodes ?? 1 }, () => startTarget(target, store.path, made?.flags)),
  );
  const targetPids = running.map(({ pid }) => pid);
  const result = await use({
    pid: targetPids[0] ?? 0,
    port: running[0]?.port ?? 0,
    async load(load) {
      const { ids, plants, databasePid } = store;
      const firstId = idSequences[ids].firstOrdinal + plants;
      const ports = running.map(({ port }) => port);
      const isEncrypted = target.isEncrypted ?? false;
      const clients = { isEncrypted, ports, tokens };
      const order = { ...load, ...clients, targetPids, databasePid, ids, firstId };
      const result = await generateLoad(order);
      store.plants += result.acknowledged;
      return result;
    },
  });
  await Promise.all(running.map((node) => node.stop()));
  made?.dispose();
  await sleep(settleMs);
  return result;
}

/** Runs the target on an empty store, and counts its plants at the end. */
export function runOnFreshStore<T>(
  target: Target,
  { directory, ids = 'short' }: { directory: string; ids?: IdKind },
  use: (target: TargetUnderLoad, store: LoadedStore) => Promise<T>,
): Promise<T> {
  return withFreshStore(directory, ids, async (store) => {
    const result = await runTarget(target, store, (running) => use(running, store));
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
  const result = await use({ path: join(storeDirectory, 'plants.db'), ids, plants: 0 });
  rmSync(storeDirectory, { recursive: true });
  return result;
}

/** @throws Error unless the store of the stopped target holds exactly the acknowledged plants */
export function verifyCount(target: Target, { path, plants }: LoadedStore): void {
  const stored = target.countStored?.(path) ?? plants;
  if (stored !== plants)
    throw new Error(`${target.label}: acknowledged ${plants} creates, but holds ${stored} plants`);
}

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const args = [join(import.meta.dirname, 'load-generator.ts'), JSON.stringify(order)];
  const timeout = overtimeMsMax + overtimeFactorMax * (order.warmupMs + order.measureMs);
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout });
  return JSON.parse(stdout);
}
