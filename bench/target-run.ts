/** A target with a store, under one load after the other. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Load, LoadOrder, LoadResult } from './generator/order.ts';
import { type IdKind, idSequences } from './ids.ts';
import { startTarget, token } from './target-process.ts';
import type { Target } from './targets.ts';

/** Lets the disk finish what the target before has left behind. */
const settleMs = 500;
/**
 * An open loop may leave a queue that a slow target takes much longer to work off than it took to
 * arrive.
 */
const overtimeMsMax = 60_000;
const overtimeFactorMax = 10;

const runFile = promisify(execFile);

/** A store and how many plants of its kind have been created in it, by loads and otherwise. */
export interface LoadedStore {
  /** Of its file, or the URL of its database. */
  path: string;
  ids: IdKind;
  plants: number;
  /** The first process of the server that the database is on. */
  databasePid?: number;
}

export interface TargetUnderLoad {
  pid: number;
  /** Creates plants with ids that the store does not hold. */
  load(load: Load): Promise<LoadResult>;
}

/** Starts the target on the store, and stops it after `use`. */
export async function runTarget<T>(
  target: Target,
  store: LoadedStore,
  use: (target: TargetUnderLoad) => Promise<T>,
): Promise<T> {
  const running = await Promise.all(
    Array.from({ length: target.nodes ?? 1 }, () => startTarget(target, store.path)),
  );
  const targetPids = running.map(({ pid }) => pid);
  const result = await use({
    pid: targetPids[0] ?? 0,
    async load(load) {
      const { ids, plants, databasePid } = store;
      const firstId = idSequences[ids].firstOrdinal + plants;
      const ports = running.map(({ port }) => port);
      const result = await generateLoad({
        ...load,
        ports,
        token,
        targetPids,
        databasePid,
        ids,
        firstId,
      });
      store.plants += result.acknowledged;
      return result;
    },
  });
  await Promise.all(running.map((node) => node.stop()));
  await sleep(settleMs);
  return result;
}

/** The same on a store of its own, which must hold exactly what was acknowledged in the end. */
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

/** The store does not exist yet; whatever `use` has made of it is removed. */
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

/** @throws Error unless the stopped target's store holds exactly what was acknowledged */
export function verifyCount(target: Target, { path, plants }: LoadedStore): void {
  const stored = target.countStored?.(path) ?? plants;
  if (stored !== plants)
    throw new Error(`${target.label}: acknowledged ${plants} creates and holds ${stored}`);
}

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await runFile(
    process.execPath,
    [join(import.meta.dirname, 'load-generator.ts'), JSON.stringify(order)],
    {
      timeout: overtimeMsMax + overtimeFactorMax * (order.warmupMs + order.measureMs),
    },
  );
  return JSON.parse(stdout);
}
