import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import { schemaVersion, tokenUpgrade, versionOfTwo } from '../schema-version.ts';
import { raw } from '../tables/steps.ts';
import { isThere, opening, setDurability } from './database.ts';
import { eachRow } from './plant-rows.ts';
import { openMs } from './read-file.ts';
import { demandSynced } from './repair.ts';
import { makeTables, refuseSchemaFault, refuseTriggers, schemaVersionOf } from './schema.ts';
import { inTransaction } from './write-lock.ts';

/** @returns the version of an older schema; otherwise undefined @throws StoreOpenError, StoreError */
export async function outdatedSchemaOfSqlite(path: string): Promise<number | undefined> {
  if (!opening(path, () => isThere(path))) return undefined;
  // Not read-only: after a power cut, SQLite may have to roll a change back.
  const version = await openedOnce(path, (db) => {
    const found = schemaVersionOf(db, path);
    // Before the backup, which each attempt would make again.
    refuseTriggers(db, path);
    return found;
  });
  return version === 0 || version === schemaVersion ? undefined : version;
}

/**
 * Upgrades a store of an earlier release in one transaction. A service of that version goes on.
 *
 * @throws StoreOpenError, StoreError
 */
export function upgradeSqlite(path: string): Promise<void> {
  return openedOnce(path, (db) =>
    inTransaction(db, openMs, () => {
      upgrade(db, schemaVersionOf(db, path));
      refuseSchemaFault(db, path);
    }),
  );
}

async function openedOnce<T>(path: string, work: (db: DatabaseSync) => T): Promise<T> {
  const { result, syncAfterClose } = opening(path, () => {
    const { syncAfterClose } = demandSynced(path);
    using db = new DatabaseSync(path, { timeout: openMs });
    // The last connection checkpoints when it closes.
    setDurability(db);
    return { result: work(db), syncAfterClose };
  });
  await syncAfterClose();
  return result;
}

function upgrade(db: DatabaseSync, version: number): void {
  const hasTablesOfTwo = version >= versionOfTwo;
  if (!hasTablesOfTwo) for (const statement of tokenUpgrade('INTEGER', 'TEXT')) db.exec(statement);
  makeTables(db);
  if (!hasTablesOfTwo) fillJournal(db);
}

/** The plants from before the upgrade, in the order of their creation. */
function fillJournal(db: DatabaseSync): void {
  const plants = raw('SELECT id, created_at FROM plants ORDER BY created_at, id');
  const insert = db.prepare('INSERT INTO arrivals (created_at, ids) VALUES (?, ?)');
  let ids: bigint[] = [];
  let last = 0n;
  const write = () => {
    if (ids.length > 0) insert.run(last, new Uint8Array(new BigInt64Array(ids).buffer));
    ids = [];
  };
  for (const [id, createdAt] of eachRow<[bigint, bigint]>(db, plants)) {
    last = createdAt;
    ids.push(id);
    if (ids.length === limits.sqlite.filledRowPlants) write();
  }
  write();
}
