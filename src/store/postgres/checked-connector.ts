import { StoreError } from '../errors.ts';
import type { CommitPromise } from '../store.ts';
import type { Connector } from './connector.ts';
import { commitPromise } from './durability.ts';

export interface ConnectorChecks {
  /** Whether to accept connections on which a commit may be lost. */
  readonly acceptsLostCommits: boolean;
  /** Gets the promise of the newest connection. */
  readonly onPromise: (promise: CommitPromise) => void;
  /** Gets each change of the number of open connections. */
  readonly onConnections: (change: 1 | -1) => void;
}

/**
 * Refuses connections on which a commit may be lost, unless the operator accepts them. Every
 * connection is checked: after a failover, the next one may lead to a server with other settings.
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
          `the database may lose what it is given: ${promise.says}; ${remedy}`,
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

const remedy = 'switch it on, or accept that with --accept-lost-commits';
