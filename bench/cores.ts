/** Which cores the processes of a run may use, and how much of their time. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
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
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${first}-${last}`, `${pid}`], {
    stdio: 'ignore',
  });
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

/** Of those of a process; short, so that no create waits for long until there is time again. */
const periodUs = 10_000;

/** Of cgroup v1 where its controller is there, of v2 otherwise. */
const v1 = '/sys/fs/cgroup/cpu';
const v2 = '/sys/fs/cgroup';

/**
 * Holds a process to a share of a core's time, together with all its threads: in a control group of
 * its own.
 *
 * @see https://docs.kernel.org/scheduler/sched-bwc.html and
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu
 * @returns to be called when it has ended
 * @throws the errors of the file system where this process may make no group
 */
export function limitTime(pid: number, coreShare: number): () => void {
  const quotaUs = coreShare * periodUs;
  const isV1 = existsSync(v1);
  const group = join(isV1 ? v1 : v2, `plant-store-bench-${pid}`);
  const limits = isV1
    ? { 'cpu.cfs_period_us': periodUs, 'cpu.cfs_quota_us': quotaUs }
    : { 'cpu.max': `${quotaUs} ${periodUs}` };
  const remove = () => rmdirSync(group);
  mkdirSync(group);
  try {
    // They are there, or it is no control group.
    for (const [file, value] of Object.entries({ ...limits, 'cgroup.procs': pid }))
      writeFileSync(join(group, file), `${value}`, { flag: 'r+' });
    return remove;
  } catch (error) {
    remove();
    throw error;
  }
}

/**
 * Whether processes can be held to a share of a core's time: tried with one that waits for its
 * input to end.
 */
export async function canLimitTime(): Promise<boolean> {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  const exit = once(child, 'exit');
  let remove = () => {};
  try {
    remove = limitTime(child.pid ?? 0, 1);
    return true;
  } catch {
    return false; // no Linux, or not root, or a machine that lets nobody into a group of its own
  } finally {
    child.stdin.end();
    await exit;
    remove();
  }
}
