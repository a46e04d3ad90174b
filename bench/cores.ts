/** Which cores the processes of a run may use. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The last core, where a server can be kept to it and all others away from it; null where they must share. */
export function databaseCore(): number | null {
  const cores = availableParallelism();
  if (process.platform !== 'linux' || cores === 1) return null;
  try {
    keepToCores(0, cores - 1);
    return cores - 1;
  } catch {
    return null; // no taskset, or cores that this process may not have
  }
}

/** Keeps this process, all its threads, and what it starts from now on, to these cores. */
export function keepToCores(first: number, last: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${first}-${last}`, `${process.pid}`], { stdio: 'ignore' });
}
