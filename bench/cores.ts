/** Which cores the processes of a run may use, and how much of their time. */
import { execFileSync } from 'node:child_process';
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

/** Of those of a process; short, so that no create waits for long until there is time again. */
const periodUs = 10_000;

/**
 * A control group for one process, which together with all its threads gets no more than that share of a core's time.
 *
 * @returns its directory: of cgroup v1 where the controller is there, of v2 otherwise
 * @see https://docs.kernel.org/scheduler/sched-bwc.html and https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu
 * @throws the errors of the file system where this process may not have one
 */
function makeGroup(name: string, coreShare: number): string {
  const quotaUs = coreShare * periodUs;
  const v1 = '/sys/fs/cgroup/cpu';
  const isV1 = existsSync(v1);
  const group = join(isV1 ? v1 : '/sys/fs/cgroup', `plant-store-bench-${name}`);
  mkdirSync(group);
  const limits = isV1 ? { 'cpu.cfs_period_us': periodUs, 'cpu.cfs_quota_us': quotaUs } : { 'cpu.max': `${quotaUs} ${periodUs}` };
  for (const [file, value] of Object.entries(limits)) writeFileSync(join(group, file), `${value}`);
  return group;
}

/** Whether processes can be held to a share of a core's time. */
export function canLimitTime(): boolean {
  try {
    rmdirSync(makeGroup(`${process.pid}`, 1));
    return true;
  } catch {
    return false; // no Linux, or not root
  }
}

/** Holds a process to that share of a core's time. @returns to be called when it has ended */
export function limitTime(pid: number, coreShare: number): () => void {
  const group = makeGroup(`${pid}`, coreShare);
  writeFileSync(join(group, 'cgroup.procs'), `${pid}`);
  return () => rmdirSync(group);
}
