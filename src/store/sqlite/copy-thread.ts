import { parentPort, workerData } from 'node:worker_threads';
import { isSystemError } from '../../files.ts';
import type { OnProgress } from '../inspection.ts';
import { StoreError, StoreOpenError } from '../store.ts';
import type { Report, Task } from './copying.ts';
import { sqliteCode } from './errors.ts';
import { inspectBackupFile, inspectStoreFile } from './inspection.ts';
import { copySnapshot } from './snapshot.ts';

/* A thread for one task that keeps SQLite busy for seconds or minutes, so that the main thread still hears signals. */

const report = (message: Report) => parentPort?.postMessage(message);

try {
  report({ done: await perform(workerData as Task, (progress) => report({ progress })) });
} catch (error) {
  const isOfTheWorld = error instanceof StoreError || error instanceof StoreOpenError || sqliteCode(error) !== undefined;
  if (!isOfTheWorld && !isSystemError(error)) throw error;
  report({ failure: (error as Error).message });
}

function perform(task: Task, onProgress: OnProgress) {
  switch (task.task) {
    case 'copy snapshot':
      return copySnapshot(task.storePath, task.copyPath, onProgress);
    case 'inspect store':
      return inspectStoreFile(task.path, onProgress);
    case 'inspect backup':
      return inspectBackupFile(task.path, onProgress);
    default:
      return task satisfies never;
  }
}
