import { DatabaseSync } from 'node:sqlite';
import { syncFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { addId, type IdSample, noIds } from '../comparison.ts';
import type { OnProgress } from '../inspection.ts';
import type { CompletedCopy, Diagnosis, RepairOrder, TableOrigin } from '../repair.ts';
import { comparePlants, immutableUrl } from './comparison.ts';
import { inTransaction, openMs } from './database.ts';
import { isSchemaDamage, SQLITE_CONSTRAINT, sqliteCode } from './errors.ts';
import { plantsOnPages } from './leaf-pages.ts';
import { pageFaults } from './page-check.ts';
import { migrate, schemaVersionOf } from './schema.ts';

/**
 * The tables besides the plants, and what takes the place of a table that cannot be read whole: the
 * table of the backup, or no row. Without the journal of arrivals, the next backup is a full one.
 */
const tables: Readonly<Record<string, Exclude<TableOrigin, 'store'>>> = {
  tokens: 'backup',
  sessions: 'backup',
  backups: 'backup',
  jobs: 'backup',
  heartbeat: 'backup',
  history: 'backup',
  arrivals: 'empty',
};

/** Examines a store, or a copy, that no process changes and that has no WAL. */
export function diagnose(
  path: string,
  parts: readonly string[],
  onProgress: OnProgress,
): Diagnosis {
  onProgress('checking every page');
  const url = immutableUrl(path);
  const faults = pageFaults(url);
  try {
    using store = new DatabaseSync(url, { readOnly: true });
    const comparison = comparePlants(
      store,
      parts,
      () => undefined,
      (doing) => onProgress(doing),
    );
    return { comparison, pageFaults: faults };
  } catch (error) {
    if (!isSchemaDamage(error)) throw error;
    return { comparison: { fault: (error as Error).message }, pageFaults: faults };
  }
}

/** Adds to a copy of a backup what only the damaged store holds, and syncs the copy. */
export function completeCopy(order: RepairOrder, onProgress: OnProgress): CompletedCopy {
  const completed = completeUnsynced(order, onProgress);
  syncFile(order.copy);
  return completed;
}

function completeUnsynced(order: RepairOrder, onProgress: OnProgress): CompletedCopy {
  using db = new DatabaseSync(order.copy);
  db.exec('PRAGMA synchronous = OFF; CREATE TEMP TABLE only_in_store (id INTEGER PRIMARY KEY)');
  inTransaction(db, openMs, () => migrate(db, schemaVersionOf(db, order.copy)));
  return complete(db, order, onProgress);
}

function complete(
  db: DatabaseSync,
  { damaged, diagnosis }: RepairOrder,
  onProgress: OnProgress,
): CompletedCopy {
  const isOpen = attach(db, damaged);
  onProgress('reading the damaged store');
  inTransaction(db, openMs, () => {
    if (isOpen && isWhole(diagnosis)) copyPlantsInOrder(db);
    else copyPlantsByPage(db, damaged, onProgress);
    removeChangedIds(db, diagnosis);
  });
  const copied = Object.entries(tables).map(([name, otherwise]): [string, TableOrigin] => [
    name,
    isOpen && copyTable(db, name) ? 'store' : otherwise,
  ]);
  const origins = new Map(copied);
  const lost = origins.get('arrivals') === 'store' ? lostPlants(db) : undefined;
  // A backup of the plants since the last backup needs all plants of the journal.
  if (lost?.count !== 0) origins.set('arrivals', 'empty');
  for (const [name, origin] of origins) if (origin === 'empty') db.exec(`DELETE FROM main.${name}`);
  if (origins.get('arrivals') === 'empty') beginJournal(db);
  return { ...countPlants(db), lost, tables: Object.fromEntries(origins) };
}

/**
 * The journal lacks all plants that there are, as after an upgrade. No earlier version stores
 * plants from now on, so the time of the handover is over: the next full backup has increments.
 */
function beginJournal(db: DatabaseSync): void {
  const begin = db.prepare("INSERT INTO main.arrivals (created_at, ids) VALUES (?, x'')");
  begin.run(Date.now() - limits.backup.handoverMs);
}

/** @returns false if SQLite cannot read the damaged store at all */
function attach(db: DatabaseSync, damaged: string): boolean {
  try {
    db.prepare('ATTACH ? AS damaged').run(immutableUrl(damaged).href);
    db.prepare('SELECT 1 FROM damaged.plants LIMIT 1').get();
    return true;
  } catch (error) {
    if (!isSchemaDamage(error)) throw error;
  }
  const isAttached = db.prepare("SELECT 1 FROM pragma_database_list WHERE name = 'damaged'").get();
  if (isAttached !== undefined) db.exec('DETACH damaged');
  return false;
}

/** Whether a read in the order of the ids finds every plant. */
function isWhole({ comparison, pageFaults }: Diagnosis): boolean {
  return pageFaults.length === 0 && !('fault' in comparison) && comparison.unreadable.count === 0;
}

/** Types can be wrong only in damaged rows. */
function copyPlantsInOrder(db: DatabaseSync): void {
  db.exec(`
    INSERT INTO only_in_store SELECT id FROM damaged.plants AS d
      WHERE NOT EXISTS (SELECT 1 FROM main.plants AS m WHERE m.id = d.id)
        AND typeof(name) = 'text' AND typeof(tag) IN ('text', 'null')
        AND typeof(created_at) = 'integer' AND typeof(created_by) = 'integer';
    INSERT INTO main.plants SELECT d.* FROM only_in_store JOIN damaged.plants AS d USING (id)`);
}

function copyPlantsByPage(db: DatabaseSync, damaged: string, onProgress: OnProgress): void {
  const insert = db.prepare(
    'INSERT INTO main.plants VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const note = db.prepare('INSERT INTO only_in_store VALUES (?)');
  let read = 0;
  for (const { id, name, tag, createdAtMs, createdBy } of plantsOnPages(damaged)) {
    if (insert.run(id, name, tag, createdAtMs, createdBy).changes === 1) note.run(id);
    read += 1;
    if (read % limits.store.snapshotPagePlants === 0)
      onProgress(`reading every page: ${read} plants`);
  }
}

/**
 * A flipped bit in an id makes a plant that was never created. Such a plant has the columns of a
 * missing plant of the backup.
 */
function removeChangedIds(db: DatabaseSync, { comparison }: Diagnosis): void {
  if ('fault' in comparison) return;
  const isSame = db.prepare(
    `SELECT 1 FROM only_in_store JOIN main.plants AS p USING (id) JOIN main.plants AS b ON b.id = ?
      WHERE p.id = ? AND (p.name, p.tag, p.created_at, p.created_by)
        IS (b.name, b.tag, b.created_at, b.created_by)`,
  );
  for (const id of comparison.missing.ids) {
    for (let bit = 0n; bit < 64n; bit += 1n) {
      const changed = BigInt.asIntN(64, id ^ (1n << bit));
      if (isSame.get(id, changed) === undefined) continue;
      for (const table of ['main.plants', 'only_in_store'])
        db.prepare(`DELETE FROM ${table} WHERE id = ?`).run(changed);
    }
  }
}

/** Takes a table of the damaged store if all of its rows and indexes can be read. */
function copyTable(db: DatabaseSync, name: string): boolean {
  try {
    if (!isTableWhole(db, name)) return false;
    inTransaction(db, openMs, () => replaceRows(db, name));
    return true;
  } catch (error) {
    if (isSchemaDamage(error) || sqliteCode(error) === SQLITE_CONSTRAINT) return false;
    throw error;
  }
}

function isTableWhole(db: DatabaseSync, name: string): boolean {
  const found = db.prepare(`PRAGMA damaged.integrity_check(${name})`).get();
  return found?.['integrity_check'] === 'ok';
}

/** An older store lacks some columns. */
function replaceRows(db: DatabaseSync, name: string): void {
  const columns = db
    .prepare(
      `SELECT group_concat(name) AS names FROM pragma_table_info('${name}', 'main')
        WHERE name IN (SELECT name FROM pragma_table_info('${name}', 'damaged'))`,
    )
    .get()?.['names'];
  db.exec(`
    DELETE FROM main.${name};
    INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM damaged.${name}`);
}

function countPlants(db: DatabaseSync): { plants: number; onlyInStore: IdSample } {
  const count = (table: string) =>
    Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  const select = db.prepare('SELECT id FROM only_in_store ORDER BY id LIMIT ?');
  select.setReadBigInts(true);
  const ids = select.all(limits.scrub.idsKept).map(({ id }) => id as bigint);
  return { plants: count('main.plants'), onlyInStore: { count: count('only_in_store'), ids } };
}

/** Plants that the journal of arrivals names, and that neither the backup nor the store holds. */
function lostPlants(db: DatabaseSync): IdSample {
  const rows = db.prepare('SELECT ids FROM main.arrivals ORDER BY seq');
  const isThere = db.prepare('SELECT 1 FROM main.plants WHERE id = ?');
  const lost = noIds();
  for (const { ids } of rows.iterate() as Iterable<unknown> as Iterable<{ ids: Uint8Array }>) {
    for (const id of new BigInt64Array(ids.slice().buffer))
      if (isThere.get(id) === undefined) addId(lost, id, limits.scrub.idsKept);
  }
  return lost;
}
