import type { Client } from 'pg';
import { limits } from '../../limits.ts';
import { StoreOpenError } from '../errors.ts';

/** What a server says of itself and of the session. A setting that it does not know is null. */
export interface SessionSettings {
  /** Such as `18.4`. */
  readonly serverVersion: string | null;
  /**
   * With the name of the engine, such as `PostgreSQL 18.4 on x86_64…` or `CockroachDB CCL v25.4…`.
   */
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
  /** What was set, under the one name that all have. */
  readonly set_config: string;
}

/**
 * Bounds the session, and reads what it is like.
 *
 * @throws Error if it does not take writes
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

/**
 * Only what CockroachDB and YugabyteDB take, too. Not in the startup message, in which PgBouncer
 * takes few settings.
 */
function sessionSettings(statementMs: number): string {
  return `SELECT version(),
    ${setting('server_version')} AS "serverVersion",
    ${setting('server_encoding')} AS encoding,
    pg_is_in_recovery() AS "isInRecovery",
    ${setting('transaction_read_only')} AS "isReadOnly",
    ${setting('fsync')} AS fsync,
    ${setting('full_page_writes')} AS "fullPageWrites",
    ${setting('synchronous_commit')} AS "synchronousCommit",
    ${setting('synchronous_standby_names')} AS "synchronousStandbyNames",
    set_config('statement_timeout', '${statementMs}', false),
    set_config('idle_in_transaction_session_timeout', '${limits.postgres.idleInTransactionMs}', false),
    set_config('client_encoding', 'UTF8', false),
    set_config('standard_conforming_strings', 'on', false)`;
}

function setting(name: string): string {
  return `current_setting('${name}', true)`;
}
