import { parentPort, workerData } from 'node:worker_threads';
import { isSystemError } from '../../disk/files.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import type { OnProgress } from '../inspection.ts';
import { backUp } from './backup.ts';
import { openForReading } from './database.ts';
import { sqliteCode } from './errors.ts';
import { inspectFile } from './inspection.ts';
import { openToRead } from './read-file.ts';
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

function perform({ task, path, copyPath }: Task, onProgress: OnProgress) {
  if (copyPath !== undefined) return backUp(path, copyPath, onProgress);
  return inspectFile(
    () => (task === 'read the store' ? openForReading(path) : openToRead(path)),
    onProgress,
  );
}
