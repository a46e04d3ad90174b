import type { DatabaseSync } from 'node:sqlite';
import { openDigest } from '../digest.ts';
import type { Inspection, OnProgress, PlantFigures } from '../inspection.ts';
import { unknownVersion } from '../schema-version.ts';
import { openForReading } from './database.ts';
import { SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from './errors.ts';
import { countPlants, rowsOf } from './plant-rows.ts';
import { openToRead } from './read-file.ts';
import { applicationId, pragma, releasedVersions, schemaFaultOf } from './schema.ts';

/** Inspects a store at one moment, also while a service writes. @throws StoreOpenError */
export function inspectStoreFile(path: string, onProgress: OnProgress): Inspection {
  return withFaults(() => {
    using store = openForReading(path);
    return store.read((db) => inspect(db, onProgress));
  });
}

/** Inspects any file. A backup needs no other file beside it. */
export function inspectBackupFile(path: string, onProgress: OnProgress): Inspection {
  return withFaults(() => {
    using file = openToRead(path);
    return file.read((db) => inspectBackup(db, onProgress));
  });
}

function inspectBackup(db: DatabaseSync, onProgress: OnProgress): Inspection {
  if (pragma(db, 'application_id') !== applicationId) return { fault: 'is not a plant store' };
  const fault = unknownVersion(pragma(db, 'user_version'), releasedVersions);
  return fault === undefined ? inspect(db, onProgress) : { fault };
}

function withFaults(look: () => Inspection): Inspection {
  try {
    return look();
  } catch (error) {
    const code = sqliteCode(error);
    if (code === SQLITE_NOTADB) return { fault: 'is not an SQLite database' };
    if (code === SQLITE_CORRUPT) return { fault: `is damaged (${(error as Error).message})` };
    throw error;
  }
}

function inspect(db: DatabaseSync, onProgress: OnProgress): Inspection {
  db.exec('BEGIN');
  onProgress('checking every page');
  const checked = String(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  if (checked !== 'ok') return { fault: `is damaged (${checked.replaceAll(/\s+/g, ' ')})` };
  const schemaFault = schemaFaultOf(db);
  if (schemaFault !== undefined)
    return { fault: `has other tables than its version: ${schemaFault}` };
  return { schemaVersion: pragma(db, 'user_version'), ...readPlants(db, onProgress) };
}

/** Reads more than a million plants a second. */
function readPlants(db: DatabaseSync, onProgress: OnProgress): PlantFigures {
  const total = countPlants(db);
  const digest = openDigest((done) =>
    onProgress('reading the plants', { done, total, unit: 'plants' }),
  );
  const text = 'SELECT id, name, tag FROM plants ORDER BY id';
  type Row = [id: bigint, name: string, tag: string | null];
  for (const [id, name, tag] of rowsOf<Row>(db, { text, values: [] }))
    digest.add({ id, name, tag: tag ?? undefined });
  return digest.figures();
}
