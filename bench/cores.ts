/** The cores that processes may use, and their share of a core's time. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { childrenOf } from './process-stats.ts';

/** The core that a server can have alone. Null on one core, without taskset or its permission. */
export function lastCore(): number | null {
  const last = availableParallelism() - 1;
  if (process.platform !== 'linux' || last === 0) return null;
  try {
    keepToCores(process.pid, 0, last);
    return last;
  } catch {
    return null; // taskset is missing, or this process may not have all cores
  }
}

/** Keeps a process to these cores, with its threads and its future children. */
export function keepToCores(pid: number, first: number, last: number): void {
  const args = ['--all-tasks', '--cpu-list', '--pid', `${first}-${last}`, `${pid}`];
  execFileSync('taskset', args, { stdio: 'ignore' });
}

/** Keeps a process to these cores, with its threads and all its children. */
export function keepAllToCores(pid: number, first: number, last: number): void {
  keepToCores(pid, first, last);
  for (const child of childrenOf(pid)) {
    try {
      keepToCores(child, first, last);
    } catch {
      // The child has ended meanwhile.
    }
  }
}

/** Short, so that no create waits long for the next period. */
const periodUs = 10_000;

const cgroupV1 = '/sys/fs/cgroup/cpu';
const cgroupV2 = '/sys/fs/cgroup';

/**
 * Limits a process, with all its threads, to a share of a core's time by a control group.
 *
 * @see https://docs.kernel.org/scheduler/sched-bwc.html and
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu
 * @returns removes the group; call it after the process has ended
 * @throws errors of the file system where this process cannot make the group
 */
export function limitTime(pid: number, coreShare: number): () => void {
  const quotaUs = coreShare * periodUs;
  const isV1 = existsSync(cgroupV1);
  const group = join(isV1 ? cgroupV1 : cgroupV2, `plant-store-bench-${pid}`);
  const limits = isV1
    ? { 'cpu.cfs_period_us': periodUs, 'cpu.cfs_quota_us': quotaUs }
    : { 'cpu.max': `${quotaUs} ${periodUs}` };
  const remove = () => rmdirSync(group);
  mkdirSync(group);
  try {
    // `r+` fails in a folder that is no control group, where these files are missing.
    for (const [file, value] of Object.entries({ ...limits, 'cgroup.procs': pid }))
      writeFileSync(join(group, file), `${value}`, { flag: 'r+' });
    return remove;
  } catch (error) {
    remove();
    throw error;
  }
}

/** Tries `limitTime` on a process that waits for the end of its input. */
export async function canLimitTime(): Promise<boolean> {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  const exit = once(child, 'exit');
  let remove = () => {};
  try {
    remove = limitTime(child.pid ?? 0, 1);
    return true;
  } catch {
    return false; // no Linux, or no permission to make a control group
  } finally {
    child.stdin.end();
    await exit;
    remove();
  }
}
