import { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import { demandThere, openMs } from './database.ts';
import { isSchemaDamage } from './errors.ts';
import { schemaFaultOf } from './schema.ts';

/**
 * Checks every page and the schema of a store, in one read transaction.
 *
 * @param file a path, or an `immutableUrl`
 * @returns what is wrong, up to `limits.scrub.pageFaultsMax` lines
 */
export function pageFaults(file: string | URL): string[] {
  try {
    using db = new DatabaseSync(file, { readOnly: true, timeout: openMs });
    db.exec('BEGIN');
    const schemaFault = schemaFaultOf(db);
    return [...(schemaFault === undefined ? [] : [schemaFault]), ...integrityFaults(db)];
  } catch (error) {
    if (isSchemaDamage(error)) return [(error as Error).message];
    throw error;
  }
}

function integrityFaults(db: DatabaseSync): string[] {
  const rows = db.prepare(`PRAGMA integrity_check(${limits.scrub.pageFaultsMax})`).all();
  const lines = rows.flatMap((row) => `${row['integrity_check']}`.split('\n'));
  // Some faults come with a headline.
  return lines.filter((line) => line !== 'ok' && !line.startsWith('*** ')).map((one) => one.trim());
}

export function storePageFaults(path: string): string[] {
  demandThere(path);
  return pageFaults(path);
}
