import type { Client } from 'pg';
import { limits } from '../../limits.ts';
import { StoreOpenError } from '../errors.ts';

/** Settings of a server and a session; null where the server does not know one. */
export interface SessionSettings {
  /** Such as `18.4`. */
  readonly serverVersion: string | null;
  /** Names the engine, such as `PostgreSQL 18.4 on x86_64…` or `CockroachDB CCL v25.4…`. */
  readonly version: string;
  readonly fsync: string | null;
  readonly fullPageWrites: string | null;
  readonly synchronousCommit: string | null;
  readonly synchronousStandbyNames: string | null;
}

interface SessionRow extends SessionSettings {
  readonly encoding: string | null;
  readonly isInRecovery: boolean;
  readonly isReadOnly: string | null;
  /** Result of `set_config`; all have one name. */
  readonly set_config: string;
}

/**
 * Sets the limits of the session, and reads its settings.
 *
 * @throws Error if the session takes no writes
 * @throws StoreOpenError if the database cannot hold every plant
 */
export async function beginSession(client: Client, statementMs: number): Promise<SessionSettings> {
  const { rows } = await client.query<SessionRow>(sessionSettings(statementMs));
  const [row] = rows;
  if (row === undefined) throw new Error('it does not answer as PostgreSQL does');
  const { encoding, isInRecovery, isReadOnly, set_config: _, ...settings } = row;
  if (encoding !== 'UTF8') {
    throw new StoreOpenError(
      `the database has the encoding ${encoding}; make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
  if (isInRecovery) throw new Error('it is a standby, which takes no writes');
  if (isReadOnly === 'on') throw new Error('it is read-only (default_transaction_read_only)');
  return settings;
}

/** Not in the startup message, where PgBouncer takes few. CockroachDB and YugabyteDB take all. */
function sessionSettings(statementMs: number): string {
  return `SELECT version(),
    ${currentSetting('server_version')} AS "serverVersion",
    ${currentSetting('server_encoding')} AS encoding,
    pg_is_in_recovery() AS "isInRecovery",
    ${currentSetting('transaction_read_only')} AS "isReadOnly",
    ${currentSetting('fsync')} AS fsync,
    ${currentSetting('full_page_writes')} AS "fullPageWrites",
    ${currentSetting('synchronous_commit')} AS "synchronousCommit",
    ${currentSetting('synchronous_standby_names')} AS "synchronousStandbyNames",
    set_config('statement_timeout', '${statementMs}', false),
    set_config('idle_in_transaction_session_timeout', '${limits.postgres.idleInTransactionMs}', false),
    set_config('client_encoding', 'UTF8', false),
    set_config('standard_conforming_strings', 'on', false)`;
}

function currentSetting(name: string): string {
  return `current_setting('${name}', true)`;
}
