import { availableParallelism } from 'node:os';
import { CommandError } from '../cli/command.ts';
import { limits } from '../limits.ts';
import { StoreOpenError } from '../store/errors.ts';
import type { ServiceConfig } from './config.ts';

/**
 * Bounds threads and connections: without file descriptors, the process would see no client.
 *
 * @returns an error with the way out if there are too few of them
 */
export function withinDescriptors({
  httpThreads,
  opsPort,
  tls,
}: Pick<ServiceConfig, 'httpThreads' | 'opsPort' | 'tls'>) {
  const descriptors = descriptorLimit();
  const opsConnectionsMax = opsPort === 'off' ? 0 : opsConnectionsWithin(descriptors);
  const forOperators =
    opsPort === 'off' ? 0 : limits.service.operatorDescriptors + opsConnectionsMax;
  const { processDescriptors, httpThreadDescriptors, connectionsMin: needed } = limits.service;
  const leftFor = (threads: number) =>
    descriptors - processDescriptors - forOperators - threads * httpThreadDescriptors;
  let threadCount = threadsWanted(httpThreads);
  while (httpThreads === 'auto' && threadCount > 1 && leftFor(threadCount) < needed)
    threadCount -= 1;

  const left = leftFor(threadCount);
  const { connectionsMax: plainMax, tlsConnectionsMax } = limits.service;
  const connectionsMax = Math.min(left, tls ? tlsConnectionsMax : plainMax);
  if (left >= needed) return { threadCount, connectionsMax, opsConnectionsMax };
  return new CommandError(
    `${needed} connections on ${threadCount} threads need ${descriptors - left + needed} ` +
      `file descriptors, and the process may have ${descriptors}; raise the limit with ` +
      'ulimit -n, or lower --http-threads',
  );
}

function opsConnectionsWithin(descriptors: number): number {
  const { descriptorsPerOpsConnection, opsConnectionsMin, opsConnectionsMax } = limits.service;
  const part = Math.floor(descriptors / descriptorsPerOpsConnection);
  return Math.min(Math.max(part, opsConnectionsMin), opsConnectionsMax);
}

/** Only on Linux does Node deal the connections of a port out among threads. */
function threadsWanted(wanted: number | 'auto'): number {
  if (process.platform !== 'linux') return 1;
  if (wanted !== 'auto') return wanted;
  // The kernel needs a core, too, for syncs and TCP: on two cores, a second HTTP thread makes a
  // create cost more CPU time, and few creates faster.
  return Math.min(Math.max(1, availableParallelism() - 1), limits.service.httpThreadsAuto);
}

/** The limit, which Node has raised as far as allowed. Windows has none. */
function descriptorLimit(): number {
  const report = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } };
  };
  const limit = report.userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
}

/** Of the console, whose searches must not wait for clients. */
const consoleConnections = 1;

/** @param wanted of all threads, at most @throws StoreOpenError if a thread would have none */
export function splitConnections(wanted: number | 'auto', httpThreads: number) {
  const useful = limits.postgres.connectionsPerThread;
  const most = useful * (httpThreads + 1);
  const left = wanted === 'auto' ? most : Math.min(most, wanted - consoleConnections);
  const mainThread = Math.floor(left / (httpThreads + 1));
  if (mainThread === 0)
    throw new StoreOpenError(
      `--database-connections ${wanted} is too few for ${httpThreads} HTTP threads; give ` +
        `${httpThreads + 1 + consoleConnections} or more, or lower --http-threads`,
    );
  const httpThread = Math.min(useful, Math.floor((left - mainThread) / httpThreads));
  return {
    mainThread,
    httpThread,
    all: mainThread + httpThread * httpThreads + consoleConnections,
  };
}
