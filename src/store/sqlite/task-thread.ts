import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { isSystemError } from '../../disk/files.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import { figuresOf, type Inspection, type OnProgress } from '../inspection.ts';
import { countPlants } from '../plant-rows.ts';
import { unknownVersion } from '../schema-version.ts';
import { backUp } from './backup.ts';
import { openForReading, opening } from './database.ts';
import { SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from './errors.ts';
import { openToRead, type ReadFile, readFailure } from './read-file.ts';
import { identityIn, pagesOf } from './reader.ts';
import { demandSynced } from './repair.ts';
import { applicationId, pragma, releasedVersions, schemaFaultOf } from './schema.ts';
import { runSteps } from './steps.ts';
import type { Report, Task } from './tasks.ts';

/* A thread for one task that keeps SQLite busy for seconds or minutes. */

const task = workerData as Task;
const report = (message: Report) => parentPort?.postMessage(message);

try {
  const onProgress: OnProgress = (progress, standing) => report({ progress, standing });
  report({ done: await perform(task, onProgress) });
} catch (error) {
  report({ failure: failureOf(error) });
}

/** @throws defects */
function failureOf(error: unknown): string {
  if (error instanceof StoreError || error instanceof StoreOpenError) return error.message;
  if (sqliteCode(error) === undefined && !isSystemError(error)) throw error;
  // The fault may be that of another disk than the disk of the store.
  const destination = task.copyPath === undefined ? '' : ` to ${task.copyPath}`;
  return `cannot ${task.task}${destination} (${(error as Error).message})`;
}

async function perform({ task, path, copyPath }: Task, onProgress: OnProgress) {
  if (task === 'repair the store') return opening(path, () => demandSynced(path, true).isRepaired);
  if (copyPath !== undefined) return backUp(path, copyPath, onProgress);
  return inspectFile(
    path,
    () => (task === 'read the store' ? openForReading(path) : openToRead(path)),
    onProgress,
  );
}

/** Reads more than a million plants a second. @throws what `open` throws; StoreError */
async function inspectFile(
  path: string,
  open: () => ReadFile,
  onProgress: OnProgress,
): Promise<Inspection> {
  const faulty = (fault: string) => {
    const failure = readFailure(path);
    if (failure) throw failure;
    return { fault };
  };
  try {
    using file = open();
    const fault = file.read((db) => faultIn(db, onProgress));
    if (fault !== undefined) return faulty(fault);
    const total = runSteps(file.db, countPlants());
    const figures = await figuresOf(pagesOf(file), (done) =>
      onProgress('reading the plants', { done, total, unit: 'plants' }),
    );
    const schemaVersion = pragma(file.db, 'user_version');
    return { schemaVersion, identity: identityIn(file.db)?.identity, ...figures };
  } catch (error) {
    const code = sqliteCode(error);
    if (code === SQLITE_NOTADB) return { fault: 'is not an SQLite database' };
    if (code === SQLITE_CORRUPT) return faulty(`is damaged (${(error as Error).message})`);
    throw error;
  }
}

/** Begins a transaction for the reads that follow. */
function faultIn(db: DatabaseSync, onProgress: OnProgress): string | undefined {
  if (pragma(db, 'application_id') !== applicationId) return 'is not a plant store';
  db.exec('BEGIN');
  const fault = unknownVersion(pragma(db, 'user_version'), releasedVersions);
  if (fault !== undefined) return fault;
  onProgress('checking every page');
  const checked = String(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  if (checked !== 'ok') return `is damaged (${checked.replaceAll(/\s+/g, ' ')})`;
  const schemaFault = schemaFaultOf(db);
  return schemaFault && `has other tables than its version: ${schemaFault}`;
}
