/**
 * What the kernel says of a process. Linux only: elsewhere the figures are null and the report
 * leaves them out.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const clockTickUs = 10_000;

/** User and system CPU time of all threads, in microseconds; to the nearest 10 ms. */
export function cpuUs(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  return stat === null ? null : cpuUsOf(stat);
}

/**
 * The same, with its children, and with those that have ended. For a program like PostgreSQL, whose
 * children have none.
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

/** The sum of user and system time, which stand side by side. */
function ticksUs(stat: string, index: number): number {
  // The second field is the program's name in brackets and may hold spaces: count from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[index]) + Number(fields[index + 1])) * clockTickUs;
}

/** The most memory the process has ever had resident, in bytes. */
export function rssPeakBytes(pid: number): number | null {
  return memoryBytes(pid, 'VmHWM');
}

/** The memory that the process has resident now, in bytes. */
export function rssBytes(pid: number): number | null {
  return memoryBytes(pid, 'VmRSS');
}

function memoryBytes(pid: number, field: string): number | null {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readProc(pid, 'status') ?? '');
  return line ? Number(line[1]) * 1024 : null;
}

/** How long the main thread has been ready to run without being given a core, in microseconds. */
export function waitedForCoreUs(pid: number): number | null {
  const schedstat = readProc(pid, 'schedstat');
  return schedstat === null ? null : Number(schedstat.split(' ')[1]) / 1000;
}

interface Thread {
  id: string;
  name: string;
  cpuUs: number;
  /** What it has caused to be written to a disk. */
  diskBytes: number;
}

/** Null where there is no /proc. */
export function threadsOf(pid: number): Thread[] | null {
  try {
    return readdirSync(`/proc/${pid}/task`).map((id) => ({
      id,
      name: (readProc(pid, `task/${id}/comm`) ?? '').trim(),
      cpuUs: cpuUsOf(readProc(pid, `task/${id}/stat`) ?? ''),
      diskBytes: Number(
        /^write_bytes: (\d+)$/m.exec(readProc(pid, `task/${id}/io`) ?? '')?.[1] ?? 0,
      ),
    }));
  } catch {
    return null;
  }
}

/**
 * Microseconds of CPU time. `rest`: the main thread and those of V8 and libuv, which compile and
 * collect garbage for the others.
 */
export interface CpuByRole {
  http: number;
  writer: number;
  rest: number;
}

/** As Node names the threads that a program starts. */
const workerName = 'WorkerThread';

/**
 * The CPU time of a create on each kind of thread. All worker threads have one name; the writer is
 * the one that has written to the disk. Null where there are none, or none has written: on tmpfs
 * they cannot be told apart.
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
    return null; // not Linux, or a kernel built without this file
  }
}
