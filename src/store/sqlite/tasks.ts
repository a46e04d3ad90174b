import { startThread } from '../../program.ts';
import { StoreError } from '../errors.ts';
import type { OnProgress, Standing } from '../inspection.ts';

/** A task of `task-thread.ts`, and its messages. */
export interface Task {
  readonly task: 'copy the store' | 'read the store' | 'read the file' | 'repair the store';
  readonly path: string;
  readonly copyPath?: string;
}
export type Report =
  | { readonly progress: string; readonly standing: Standing | undefined }
  | { readonly done: unknown }
  | { readonly failure: string };

/** On a thread of its own: so this thread still hears signals. @throws StoreError */
export function runTask<T>(task: Task, onProgress: OnProgress = () => undefined): Promise<T> {
  const thread = startThread('task-thread', { workerData: task });
  return new Promise((resolve, reject) => {
    thread.on('message', (report: Report) => {
      if ('progress' in report) onProgress(report.progress, report.standing);
      else if ('done' in report) resolve(report.done as T);
      else reject(new StoreError('unavailable', report.failure));
    });
    thread.on('error', reject);
  });
}
