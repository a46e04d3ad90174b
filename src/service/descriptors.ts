import { availableParallelism } from 'node:os';
import { limits } from '../limits.ts';

/** Too few file descriptors. The message is for the operator and names the way out. */
export class DescriptorsError extends Error {
  override readonly name = 'DescriptorsError';
}

/** What the operator wants, where `auto` leaves it to the machine. */
interface Wanted {
  readonly httpThreads: number | 'auto';
  readonly connectionsMax: number | 'auto';
  readonly opsPort: number | 'off';
}

/**
 * How many threads and connections there may be, so that the process never runs out of file
 * descriptors: then it could accept no connection and open no file, and would not even learn that
 * one is waiting.
 *
 * @throws DescriptorsError
 */
export function withinDescriptors({ httpThreads, connectionsMax, opsPort }: Wanted): {
  threadCount: number;
  connectionsMax: number;
  opsConnectionsMax: number;
} {
  const descriptors = descriptorLimit();
  const opsConnectionsMax = opsPort === 'off' ? 0 : opsConnectionsWithin(descriptors);
  const forOperators =
    opsPort === 'off' ? 0 : limits.service.operatorDescriptors + opsConnectionsMax;
  const leftFor = (threads: number) =>
    descriptors -
    limits.service.processDescriptors -
    forOperators -
    threads * limits.service.httpThreadDescriptors;
  const needed = connectionsMax === 'auto' ? limits.service.connectionsMin : connectionsMax;
  let threadCount = threadsWanted(httpThreads);
  while (httpThreads === 'auto' && threadCount > 1 && leftFor(threadCount) < needed)
    threadCount -= 1;

  const left = leftFor(threadCount);
  const fitting =
    connectionsMax === 'auto' ? Math.min(left, limits.service.connectionsMax) : connectionsMax;
  if (left >= needed) return { threadCount, connectionsMax: fitting, opsConnectionsMax };
  throw new DescriptorsError(
    `${needed} connections on ${threadCount} threads need ${descriptors - left + needed} file descriptors, and the process may have ${descriptors}; raise the limit with ulimit -n, or lower --connection-limit or --http-threads`,
  );
}

function opsConnectionsWithin(descriptors: number): number {
  const part = Math.floor(descriptors / limits.service.descriptorsPerOpsConnection);
  return Math.min(
    Math.max(part, limits.service.opsConnectionsMin),
    limits.service.opsConnectionsMax,
  );
}

/**
 * Several threads on one port need a kernel that deals connections out among them; as far as Node
 * goes, that is Linux.
 */
function threadsWanted(wanted: number | 'auto'): number {
  if (process.platform !== 'linux') return 1;
  if (wanted !== 'auto') return wanted;
  // The thread that writes needs a core, too: on two cores, a second one makes a create cost a
  // third more, and none of them quicker.
  return Math.min(Math.max(1, availableParallelism() - 1), limits.service.httpThreadsAuto);
}

/** The limit that Node has raised as far as it may. Windows has none. */
function descriptorLimit(): number {
  const report = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } };
  };
  const limit = report.userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
}
