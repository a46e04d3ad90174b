import { resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { limits } from '../../limits.ts';
import { addId, type IdRange, nothingCompared, type PlantComparison } from '../comparison.ts';
import type { OnProgress, StoreFault } from '../inspection.ts';
import { startPace } from '../pace.ts';
import { demandThere, openMs } from './database.ts';
import { isDamage, isSchemaDamage } from './errors.ts';
import { refuseForeign } from './schema.ts';

/**
 * Compares each plant of a backup with the same plant of a store, in all columns and byte for byte.
 * Each window of plants is a read of its own, so a service on the store keeps its WAL small.
 *
 * @param store an open connection
 * @param parts paths of the files of the backup
 * @param rest called with the duration of each step
 * @param onProgress gets the number of compared plants, too
 * @returns a fault if no plant can be compared
 * @throws StoreOpenError for a database of another program
 */
export function comparePlants(
  store: DatabaseSync,
  parts: readonly string[],
  rest: (workedMs: number) => void,
  onProgress: (doing: string, plants: number) => void,
): PlantComparison | StoreFault {
  const found = nothingCompared();
  for (const part of parts) {
    const compareNext = prepareComparison(store, part);
    if (typeof compareNext !== 'function') return compareNext;
    for (let from: bigint | undefined = idMin; from !== undefined; ) {
      const startedMs = performance.now();
      from = compareNext(from, found);
      rest(performance.now() - startedMs);
      onProgress(`comparing: ${found.plants} plants`, found.plants);
    }
    store.exec('DETACH backup');
  }
  return found;
}

/** `comparePlants` on a store in use, at a pace that leaves the machine to the service. */
export function compareStoreFile(
  path: string,
  parts: readonly string[],
  onProgress: OnProgress,
): PlantComparison | StoreFault {
  demandThere(path);
  using store = new DatabaseSync(path, { readOnly: true, timeout: openMs });
  const pace = startPace();
  const rest = (workedMs: number) => {
    const pauseMs = pace(workedMs);
    if (pauseMs > 0) Atomics.wait(pause, 0, 0, pauseMs);
  };
  return comparePlants(store, parts, rest, (doing) => onProgress(doing));
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * The address of a file that no other connection changes. SQLite takes no locks, and ignores a WAL
 * (sqlite.org/uri.html#uriimmutable).
 */
export function immutableUrl(path: string): URL {
  const url = pathToFileURL(resolve(path));
  url.searchParams.set('immutable', '1');
  return url;
}

const idMin = -(2n ** 63n);
const idMax = 2n ** 63n - 1n;

/** Compares a window. @returns where the next window begins; undefined behind the last plant */
type CompareWindow = (from: bigint, found: PlantComparison) => bigint | undefined;

function prepareComparison(store: DatabaseSync, part: string): CompareWindow | StoreFault {
  try {
    refuseForeign(store, `${store.location()}`);
    store.prepare('ATTACH ? AS backup').run(part);
    return startWindows(prepareReads(store));
  } catch (error) {
    // The backup has been checked, so the store is at fault.
    if (!isSchemaDamage(error)) throw error;
    return { fault: `is damaged (${(error as Error).message})` };
  }
}

/** Plants of a backup with neighbouring ids. Both ends belong to the window. */
interface Window {
  readonly plants: number;
  readonly first: bigint;
  readonly last: bigint;
}

interface Reads {
  /** The next plants of the backup. */
  nextWindow(from: bigint): Window;
  idsOf(window: Window): bigint[];
  /** @returns false if the store cannot read a plant of the range. Nothing is counted then. */
  compare(first: bigint, last: bigint, found: PlantComparison): boolean;
}

/**
 * The join in SQL returns only the plants that differ: several times as fast as reading both
 * plants. `IS` compares the bytes of texts.
 */
function prepareReads(store: DatabaseSync): Reads {
  const nextWindow = prepareRows(
    store,
    `SELECT count(*), min(id), max(id) FROM
      (SELECT id FROM backup.plants WHERE id >= ? ORDER BY id LIMIT ${limits.scrub.windowPlants})`,
  );
  const ids = prepareRows(
    store,
    'SELECT id FROM backup.plants WHERE id BETWEEN ? AND ? ORDER BY id',
  );
  const differing = prepareRows(
    store,
    `SELECT b.id, s.id IS NULL FROM backup.plants AS b LEFT JOIN main.plants AS s ON s.id = b.id
      WHERE b.id BETWEEN ? AND ?
        AND (s.name, s.tag, s.created_at, s.created_by)
          IS NOT (b.name, b.tag, b.created_at, b.created_by)`,
  );
  return {
    nextWindow(from) {
      const row = nextWindow.get(from) as unknown as [plants: bigint, first: bigint, last: bigint];
      const [plants, first, last] = row;
      return { plants: Number(plants), first, last };
    },
    idsOf: ({ first, last }) => (ids.all(first, last) as unknown as [bigint][]).map(([id]) => id),
    compare(first, last, found) {
      try {
        for (const [id, isMissing] of differing.all(first, last) as unknown as bigint[][]) {
          const sample = isMissing === 1n ? found.missing : found.changed;
          addId(sample, id as bigint, limits.scrub.idsKept);
        }
        return true;
      } catch (error) {
        if (isDamage(error)) return false;
        throw error;
      }
    },
  };
}

function prepareRows(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

function startWindows({ nextWindow, idsOf, compare }: Reads): CompareWindow {
  const unreadable = startRanges();
  /** Whether no plant of the last window could be read. */
  let wasLost = false;

  /** Whether probably none of the plants can be read. */
  function areLost(ids: readonly bigint[]): boolean {
    const probes = ids.filter((_, index) => index % limits.scrub.plantsPerProbe === 0);
    return !probes.some((id) => compare(id, id, nothingCompared()));
  }

  function compareSingly(ids: readonly bigint[], found: PlantComparison): void {
    const skipReads = wasLost && areLost(ids);
    const before = found.unreadable.count;
    for (const id of ids) {
      if (skipReads || !compare(id, id, found)) unreadable.add(id, found);
      else unreadable.end();
    }
    wasLost = found.unreadable.count - before === ids.length;
  }

  return (from, found) => {
    const window = nextWindow(from);
    if (window.plants === 0) return undefined;
    if (compare(window.first, window.last, found)) {
      unreadable.end();
      wasLost = false;
    } else compareSingly(idsOf(window), found);
    found.plants += window.plants;
    return window.last === idMax ? undefined : window.last + 1n;
  };
}

/** Joins unreadable plants with neighbouring ids into ranges. */
function startRanges() {
  const { idsKept } = limits.scrub;
  let range: IdRange | undefined;
  return {
    add(id: bigint, { unreadable, unreadableRanges }: PlantComparison): void {
      addId(unreadable, id, idsKept);
      if (range === undefined) {
        range = { first: id, last: id };
        if (unreadableRanges.length < idsKept) unreadableRanges.push(range);
      }
      range.last = id;
    },
    end(): void {
      range = undefined;
    },
  };
}
