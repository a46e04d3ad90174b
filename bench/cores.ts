/** Which cores the processes of a run may use. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { childrenOf } from './process-stats.ts';

/** Whether a server can have the last core alone: null where all must share. */
export function lastCore(): number | null {
  const last = availableParallelism() - 1;
  if (process.platform !== 'linux' || last === 0) return null;
  try {
    keepToCores(process.pid, 0, last);
    return last;
  } catch {
    return null; // no taskset, or cores that this process may not have
  }
}

/** Keeps a process, all its threads, and what it starts from now on, to these cores. */
export function keepToCores(pid: number, first: number, last: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${first}-${last}`, `${pid}`], { stdio: 'ignore' });
}

/** The same with those that it has started before. */
export function keepAllToCores(pid: number, first: number, last: number): void {
  keepToCores(pid, first, last);
  for (const child of childrenOf(pid)) {
    try {
      keepToCores(child, first, last);
    } catch {
      // It has ended meanwhile.
    }
  }
}
