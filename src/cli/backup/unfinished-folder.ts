import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno, isSystemError } from '../../disk/files.ts';
import { CommandError, type Terminal } from '../command.ts';

interface Place {
  /** The file to be made. */
  readonly path: string;
  /** Name of the private folder, of which the process is the only user; by default a new name. */
  readonly folder?: string | undefined;
}

/**
 * Makes a private folder beside a file for unfinished files, and removes it after `work`. SQLite
 * makes several files, and makes no further files once the folder is gone.
 *
 * SIGINT and SIGTERM remove the folder and end the process at once. After SIGKILL the folder stays.
 *
 * @throws CommandError for errors of the file system
 */
export async function withUnfinishedFolder<T>(
  { path, folder: name }: Place,
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
    folder = name ?? mkdtempSync(`${path}.unfinished-`);
    if (name !== undefined) mkdirSync(name, 0o700);
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
