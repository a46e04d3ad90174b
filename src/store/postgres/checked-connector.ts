import { StoreError } from '../errors.ts';
import type { CommitPromise } from '../store.ts';
import type { Connector } from './connector.ts';
import { commitPromise } from './durability.ts';

export interface ConnectorChecks {
  /** Whether connections will do on which a commit may be lost. */
  readonly acceptsLostCommits: boolean;
  /** Told what a commit on the newest connection promises. */
  readonly onPromise: (promise: CommitPromise) => void;
  /** Told by how much the number of open connections has changed. */
  readonly onConnections: (change: 1 | -1) => void;
}

/**
 * Gives only connections on which a commit is kept, unless the operator accepts others. It asks
 * with each connection, since after a failover the next one may lead to a server with other
 * settings.
 */
export function checkedConnector(
  connector: Connector,
  { acceptsLostCommits, onPromise, onConnections }: ConnectorChecks,
): Connector {
  return {
    async connect(withinMs) {
      const connection = await connector.connect(withinMs);
      const promise = commitPromise(connection.settings);
      if (promise.level === 'lost' && !acceptsLostCommits) {
        connection.destroy();
        throw new StoreError(
          'unavailable',
          `the database may lose what it is given: ${promise.says}; ${wayOut}`,
        );
      }
      onPromise(promise);
      onConnections(1);
      connection.client.once('end', () => onConnections(-1));
      return connection;
    },
    passOver: connector.passOver,
  };
}

const wayOut = 'set it to on for the server or the role, or accept that with --accept-lost-commits';
