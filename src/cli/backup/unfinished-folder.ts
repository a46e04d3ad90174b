import { mkdtempSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno, isSystemError } from '../../disk/files.ts';
import { CommandError, type Terminal } from '../command.ts';

/**
 * Makes a private folder beside `path` for unfinished files, and removes it after `work`. SQLite
 * makes several files, and makes no further files once the folder is gone.
 *
 * SIGINT and SIGTERM remove the folder and end the process at once. After SIGKILL the folder stays.
 *
 * @throws CommandError for errors of the file system
 */
export async function withUnfinishedFolder<T>(
  path: string,
  terminal: Terminal,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  let folder: string | undefined;
  const remove = () => {
    terminal.showProgress('');
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    folder = undefined;
  };
  void terminal.untilSignal().then((signal) => {
    // The work is done, and the process is about to end.
    if (folder === undefined) return;
    remove();
    terminal.endBy(signal);
  });
  try {
    folder = mkdtempSync(`${path}.unfinished-`);
    return await work(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (isErrno(error, 'ENOENT') && folder === undefined)
      throw new CommandError(`there is no folder ${dirname(path)}`, { cause: error });
    throw new CommandError(`cannot write ${path} (${error.message})`, { cause: error });
  } finally {
    remove();
  }
}
