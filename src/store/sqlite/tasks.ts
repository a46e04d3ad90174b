import { startThread } from '../../program.ts';
import { StoreError } from '../errors.ts';
import type { OnProgress, StoreFault, StoreFigures } from '../inspection.ts';

/** A task of `task-thread.ts`, and its messages. */
export type Task =
  | { readonly task: 'copy the store'; readonly storePath: string; readonly copyPath: string }
  | { readonly task: 'read the store' | 'read the file'; readonly path: string };
export type Report =
  | { readonly progress: string }
  | { readonly done: unknown }
  | { readonly failure: string };

/** `backUp` on a thread of its own. @throws StoreError */
export function backUpSqlite(
  storePath: string,
  copyPath: string,
  onProgress: OnProgress,
): Promise<void> {
  return onThread({ task: 'copy the store', storePath, copyPath }, onProgress);
}

/** `inspectStoreFile` on a thread of its own. @throws StoreError */
export function inspectSqliteStore(
  path: string,
  onProgress: OnProgress,
): Promise<StoreFigures | StoreFault> {
  return onThread({ task: 'read the store', path }, onProgress);
}

/** `inspectBackupFile` on a thread of its own. @throws StoreError */
export function inspectSqliteBackup(
  path: string,
  onProgress: OnProgress,
): Promise<StoreFigures | StoreFault> {
  return onThread({ task: 'read the file', path }, onProgress);
}

function onThread<T>(task: Task, onProgress: OnProgress): Promise<T> {
  const thread = startThread('task-thread', { workerData: task });
  return new Promise((resolve, reject) => {
    thread.on('message', (report: Report) => {
      if ('progress' in report) onProgress(report.progress);
      else if ('done' in report) resolve(report.done as T);
      else reject(new StoreError('unavailable', report.failure));
    });
    thread.on('error', reject);
  });
}
