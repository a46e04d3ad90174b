import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno, isSystemError } from '../disk/files.ts';
import { CommandError, type Terminal } from './command.ts';
import { atInterruption } from './terminal/interruption.ts';

interface Task {
  readonly work: string;
  /** What an interruption leaves, and how to go on. */
  readonly left: string;
  readonly path: string;
  /** Name of the private folder, of which the process is the only user; by default a new name. */
  readonly folder?: string | undefined;
}

/**
 * Makes a private folder beside a file for unfinished files, and removes it after `run`. SQLite
 * makes several files, and makes no further files once the folder is gone.
 *
 * A signal to stop removes the folder, too. After SIGKILL the folder stays.
 */
export async function withUnfinishedFolder<T>(
  { path, folder: name, work, left }: Task,
  terminal: Terminal,
  run: (folder: string) => Promise<T>,
): Promise<T> {
  let folder: string | undefined;
  const remove = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    folder = undefined;
  };
  using _ = atInterruption(terminal, work, () => {
    remove();
    return left;
  });
  try {
    folder = name ?? mkdtempSync(`${path}.unfinished-`);
    if (name !== undefined) mkdirSync(name, 0o700);
    return await run(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (isErrno(error, 'ENOENT') && folder === undefined)
      throw new CommandError(`there is no folder ${dirname(path)}`, { cause: error });
    throw new CommandError(`cannot write ${path} (${error.message})`, { cause: error });
  } finally {
    terminal.showProgress('');
    remove();
  }
}
