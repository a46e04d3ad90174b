import { type PostgresServer, startPostgres, startStandby, untilRow } from './postgres.ts';
import type { Owner } from './program.ts';

/** A primary, and a standby that each of its commits waits for. */
export interface PostgresPair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** A new and empty database. @returns its URL, which names both hosts */
  makeDatabase(): Promise<string>;
}

export async function startPair(owner: Owner): Promise<PostgresPair> {
  const primary = await startPostgres(owner);
  const standby = await startStandby(owner, primary);
  await waitForStandby(primary);
  return {
    primary,
    standby,
    async makeDatabase() {
      const url = await primary.makeDatabase();
      return url.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
    },
  };
}

/** From now on the primary's commits wait for its standby. */
export async function waitForStandby(primary: PostgresServer): Promise<void> {
  await setStandbys(primary, '*');
  await untilRow(primary, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'");
}

/** Each session takes it in before its next statement. */
export async function setStandbys(primary: PostgresServer, names: '' | '*'): Promise<void> {
  await primary.set('synchronous_standby_names', names);
}
