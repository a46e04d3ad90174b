import { limits } from '../limits.ts';
import { StoreOpenError } from '../store/errors.ts';

/** Of the console, whose searches must not wait for clients. */
const consoleConnections = 1;

/**
 * Splits the connections of a node over its threads.
 *
 * @param wanted of all threads, at most
 * @throws StoreOpenError if a thread would have none
 */
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
