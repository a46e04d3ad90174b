/** Figures of a process from /proc. Null on systems other than Linux. */
import { readFileSync } from 'node:fs';

/** Unit of the times in /proc/PID/stat: USER_HZ is 100 on every Linux that Node runs on. */
const clockTickUs = 10_000;

/** CPU time of all threads, user and system, in steps of 10 ms. */
export function cpuUs(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  return stat === null ? null : ticksUs(stat, 11);
}

/**
 * CPU time with the children, also the children that have ended. Grandchildren do not count:
 * PostgreSQL has none.
 */
export function cpuUsWithChildren(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  if (stat === null) return null;
  const living = childrenOf(pid).map((child) => cpuUs(child) ?? 0);
  return living.reduce((sum, us) => sum + us, ticksUs(stat, 11) + ticksUs(stat, 13));
}

function childrenOf(pid: number): number[] {
  return (readProc(pid, `task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
}

/** The sum of user time at `index` and system time behind it. */
function ticksUs(stat: string, index: number): number {
  // Counted from behind the second field: the program's name in brackets may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[index]) + Number(fields[index + 1])) * clockTickUs;
}

/** The peak of resident memory since the start of the process. */
export function rssPeakBytes(pid: number): number | null {
  return memoryBytes(pid, 'VmHWM');
}

export function rssBytes(pid: number): number | null {
  return memoryBytes(pid, 'VmRSS');
}

function memoryBytes(pid: number, field: string): number | null {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readProc(pid, 'status') ?? '');
  return line ? Number(line[1]) * 1024 : null;
}

/** Time in which the main thread was ready to run and had no core. */
export function waitedForCoreUs(pid: number): number | null {
  const schedstat = readProc(pid, 'schedstat');
  return schedstat === null ? null : Number(schedstat.split(' ')[1]) / 1000;
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null; // no Linux, or a kernel without this file
  }
}
