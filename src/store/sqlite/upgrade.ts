import { DatabaseSync } from 'node:sqlite';
import { inTransaction, isThere, opening, setDurability } from './database.ts';
import { openMs } from './read-file.ts';
import { migrate, refuseSchemaFault, schemaVersion, schemaVersionOf } from './schema.ts';

/** @returns the version of an older schema; otherwise undefined @throws StoreOpenError */
export function outdatedSchemaOfSqlite(path: string): number | undefined {
  return opening(path, () => {
    if (!isThere(path)) return undefined;
    // Not read-only: after a power cut, SQLite may have to roll a change back.
    using db = new DatabaseSync(path, { timeout: openMs });
    // The last connection checkpoints when it closes.
    setDurability(db);
    const version = schemaVersionOf(db, path);
    if (version === 0 || version === schemaVersion) return undefined;
    refuseSchemaFault(db, path);
    return version;
  });
}

/**
 * Migrates the schema in one transaction. A running service of an earlier version goes on: its
 * tables stay as they are.
 *
 * @throws StoreOpenError
 */
export function upgradeSqlite(path: string): void {
  opening(path, () => {
    using db = new DatabaseSync(path, { timeout: openMs });
    setDurability(db);
    inTransaction(db, openMs, () => {
      migrate(db, schemaVersionOf(db, path));
      refuseSchemaFault(db, path);
    });
  });
}
