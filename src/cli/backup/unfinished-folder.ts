import { mkdtempSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { isErrno, isSystemError } from '../../disk/files.ts';
import { CommandError, type Terminal } from '../command.ts';

/**
 * Makes a folder beside `path` for files that are not finished, for as long as `work` takes. Nobody
 * else can look into it.
 *
 * SIGINT and SIGTERM remove it and end the process at once, whatever other threads are doing. A
 * folder, because SQLite makes files beside its own; and once it has gone, they cannot make
 * another. A process that is killed leaves it behind.
 *
 * @throws CommandError for what the file system refuses
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
    // Once the work is done, the process is about to end anyhow.
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
