/** Figures of a process from /proc. Null on systems other than Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** Unit of the times in /proc/PID/stat: USER_HZ is 100 on every Linux that Node runs on. */
const clockTickUs = 10_000;

/** CPU time of all threads, user and system, in steps of 10 ms. */
export function cpuUs(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  return stat === null ? null : cpuUsOf(stat);
}

/**
 * CPU time with the children, also the children that have ended. Grandchildren do not count:
 * PostgreSQL has none.
 */
export function cpuUsWithChildren(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  if (stat === null) return null;
  const living = childrenOf(pid).map((child) => cpuUs(child) ?? 0);
  return living.reduce((sum, us) => sum + us, cpuUsOf(stat) + ticksUs(stat, 13));
}

export function childrenOf(pid: number): number[] {
  return (readProc(pid, `task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
}

function cpuUsOf(stat: string): number {
  return ticksUs(stat, 11);
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

interface Thread {
  id: string;
  name: string;
  cpuUs: number;
  /** Bytes that the thread has caused to be written to a disk. */
  diskBytes: number;
}

export function threadsOf(pid: number): Thread[] | null {
  try {
    return readdirSync(`/proc/${pid}/task`).map((id) => ({
      id,
      name: (readProc(pid, `task/${id}/comm`) ?? '').trim(),
      cpuUs: cpuUsOf(readProc(pid, `task/${id}/stat`) ?? ''),
      diskBytes: diskBytes(readProc(pid, `task/${id}/io`) ?? ''),
    }));
  } catch {
    return null;
  }
}

function diskBytes(io: string): number {
  return Number(/^write_bytes: (\d+)$/m.exec(io)?.[1] ?? 0);
}

/**
 * CPU time in microseconds. `rest`: the main thread, and the threads of V8 and libuv, which compile
 * and collect garbage for the others.
 */
export interface CpuByRole {
  http: number;
  writer: number;
  rest: number;
}

/** Node's name for each thread that a program starts. */
const workerName = 'WorkerThread';

/**
 * CPU time of a create on each kind of thread. The writer is the worker thread that has written the
 * most to the disk. Null without a writer, as on tmpfs.
 */
export function cpuByRole(
  start: Thread[] | null,
  end: Thread[] | null,
  creates: number,
): CpuByRole | null {
  const writer = end
    ?.filter(({ name }) => name === workerName)
    .sort((a, b) => b.diskBytes - a.diskBytes)[0];
  if (!start || !end || !writer?.diskBytes) return null;
  const startedUs = new Map(start.map(({ id, cpuUs }) => [id, cpuUs]));
  const spent: CpuByRole = { http: 0, writer: 0, rest: 0 };
  for (const { id, name, cpuUs } of end) {
    const role = id === writer.id ? 'writer' : name === workerName ? 'http' : 'rest';
    spent[role] += (cpuUs - (startedUs.get(id) ?? 0)) / creates;
  }
  return spent;
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null; // no Linux, or a kernel without this file
  }
}
