import type { PostgresHost, PostgresLocation } from '../location.ts';
import { type Connection, openConnection } from './connection.ts';
import { connectionFailure, type HostFailure } from './connection-failure.ts';
import { encryptionsFor, mayHelp } from './tls.ts';

export interface Connector {
  /**
   * A new session on a host that takes writes. The hosts are tried in turn, first the one that was found last.
   *
   * @throws StoreError that is `unavailable`. Its cause is a `StoreOpenError` if waiting will not help, such as after a wrong password.
   */
  connect(withinMs: number): Promise<Connection>;
}

export function openConnector(location: PostgresLocation, statementMs: number): Connector {
  const { hosts, connectMs } = location;
  let lastGood = 0;
  return {
    async connect(withinMs) {
      const endMs = performance.now() + withinMs;
      const failures: HostFailure[] = [];
      for (const turn of hosts.keys()) {
        const index = (lastGood + turn) % hosts.length;
        const host = hosts[index] as PostgresHost;
        // Each has its share, so that one that does not answer leaves time for the others.
        const shareMs = (endMs - performance.now()) / (hosts.length - turn);
        try {
          const connection = await connectTo(host, location, statementMs, Math.min(connectMs, shareMs));
          lastGood = index;
          return connection;
        } catch (error) {
          failures.push({ host, error });
        }
      }
      throw connectionFailure(location, failures);
    },
  };
}

async function connectTo(host: PostgresHost, location: PostgresLocation, statementMs: number, withinMs: number): Promise<Connection> {
  const cut = new AbortController();
  const tooLate = () => cut.abort(new Error(`no answer within ${Math.max(0, Math.ceil(withinMs))} ms`));
  const timer = setTimeout(tooLate, withinMs);
  const [encryption, otherwise] = encryptionsFor(host.host, location.tls.mode);
  try {
    return await openConnection(host, location, statementMs, encryption, cut.signal);
  } catch (error) {
    if (otherwise === undefined || !mayHelp(otherwise, error)) throw error;
    return await openConnection(host, location, statementMs, otherwise, cut.signal);
  } finally {
    clearTimeout(timer);
  }
}
