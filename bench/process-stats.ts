/** What the kernel says of a process. Linux only: elsewhere the figures are null and the report leaves them out. */
import { readFileSync } from 'node:fs';

/** The unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const clockTickUs = 10_000;

/** User and system CPU time of all threads, in microseconds; to the nearest 10 ms. */
export function cpuUs(pid: number): number | null {
  const stat = readProc(pid, 'stat');
  if (stat === null) return null;
  // The second field is the program's name in brackets and may hold spaces: count from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * clockTickUs;
}

/** The most memory the process has ever had resident, in bytes. */
export function rssPeakBytes(pid: number): number | null {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readProc(pid, 'status') ?? '');
  return peak ? Number(peak[1]) * 1024 : null;
}

/** How long the main thread has been ready to run without being given a core, in microseconds. */
export function waitedForCoreUs(pid: number): number | null {
  const schedstat = readProc(pid, 'schedstat');
  return schedstat === null ? null : Number(schedstat.split(' ')[1]) / 1000;
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null; // not Linux, or a kernel built without this file
  }
}
