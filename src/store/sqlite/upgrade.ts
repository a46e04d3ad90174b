import { DatabaseSync } from 'node:sqlite';
import { inTransaction, isThere, opening, openMs, setDurability } from './database.ts';
import { migrate, schemaVersion, schemaVersionOf } from './schema.ts';

/**
 * The version of the schema of a store that is there, if it is an earlier one than this program's.
 * @throws StoreOpenError
 */
export function outdatedSchemaOfSqlite(path: string): number | undefined {
  return opening(path, () => {
    if (!isThere(path)) return undefined;
    // Not for reading only, because a power cut may have left a change that is to be rolled back
    // first.
    using db = new DatabaseSync(path, { timeout: openMs });
    // If it is the last to close, it checkpoints.
    setDurability(db);
    const version = schemaVersionOf(db, path);
    return version > 0 && version < schemaVersion ? version : undefined;
  });
}

/**
 * Leads the schema of a store to this program's, in one transaction. A service of an earlier
 * version that is running on the store goes on: the tables that it knows stay as they are.
 *
 * @throws StoreOpenError
 */
export function upgradeSqlite(path: string): void {
  opening(path, () => {
    using db = new DatabaseSync(path, { timeout: openMs });
    setDurability(db);
    inTransaction(db, openMs, () => migrate(db, schemaVersionOf(db, path)));
  });
}
