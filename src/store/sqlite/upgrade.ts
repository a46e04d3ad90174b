import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StoreSurvey } from '../store.ts';
import { inTransaction, opening, openMs, setDurability } from './database.ts';
import { migrate, schemaVersion, schemaVersionOf } from './schema.ts';

/** Looks at a store before a service starts on it. @returns undefined if there is none. @throws StoreOpenError */
export function surveySqlite(path: string): StoreSurvey | undefined {
  if (!existsSync(path)) return undefined;
  return opening(path, () => {
    // Not for reading only, because a power cut may have left a change that is to be rolled back first.
    using db = new DatabaseSync(path, { timeout: openMs });
    // If it is the last to close, it checkpoints.
    setDurability(db);
    const version = schemaVersionOf(db, path);
    if (version === 0) return undefined;
    const hasHadToken = db.prepare('SELECT 1 FROM tokens').get() !== undefined;
    return { outdatedSchema: version < schemaVersion ? version : undefined, hasHadToken };
  });
}

/**
 * Leads the schema of a store to this program's, in one transaction. A service of an earlier version that is running on the store
 * goes on: the tables that it knows stay as they are.
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
