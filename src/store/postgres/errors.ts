import { DatabaseError } from 'pg';
import { StoreError } from '../errors.ts';

/** SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html). */
export const SERIALIZATION_FAILURE = '40001';
export const DEADLOCK_DETECTED = '40P01';
export const FEATURE_NOT_SUPPORTED = '0A000';
export const READ_ONLY_SQL_TRANSACTION = '25006';
const TOO_MANY_CONNECTIONS = '53300';
export const PROTOCOL_VIOLATION = '08P01';
const IDLE_SESSION_TIMEOUT = '57P05';
export const UNDEFINED_TABLE = '42P01';

export const DATA_CORRUPTED = 'XX001';
export const INDEX_CORRUPTED = 'XX002';
export const INSUFFICIENT_PRIVILEGE = '42501';
export const LOCK_NOT_AVAILABLE = '55P03';

/** Another session makes the same object. */
const madeByOthers = new Set(['23505', '42P06', '42P07', '42710', 'XX000']);

/** Classes of codes that blame the statements of this program: defects. */
const defects = new Set(['0A', '21', '22', '23', '34', '42']);

/** An operator can repair these while the service runs: missing privileges, a missing table. */
const mendable = new Set([INSUFFICIENT_PRIVILEGE, UNDEFINED_TABLE]);

export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** The server ends a session for its idle time only between two statements. */
const undone = new Set([
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
  READ_ONLY_SQL_TRANSACTION,
  IDLE_SESSION_TIMEOUT,
]);

/**
 * Whether the statement has certainly changed nothing, and may succeed at once, on a connection to
 * another server or in other company. After a failed write the server lacks the end of the
 * statement. Whatever else ends a connection (57P01, a reset) may come between a commit and its
 * reply.
 */
export function isUndone(error: unknown): boolean {
  const isUnsent = error instanceof Error && 'syscall' in error && error.syscall === 'write';
  return isUnsent || undone.has(sqlState(error) ?? '');
}

/** Whether the server, the database or the role has as many connections as it may have. */
export function isAtLimit(error: unknown): boolean {
  return sqlState(error) === TOO_MANY_CONNECTIONS;
}

/** Whether several nodes made the same table concurrently. */
export function isMadeByOthers(error: unknown): boolean {
  return madeByOthers.has(sqlState(error) ?? '');
}

/** Whether the server takes no writes or shuts down. Other connections lead to it, too. */
export function isServerLost(error: unknown): boolean {
  const code = sqlState(error);
  return (
    code === undefined ||
    code === READ_ONLY_SQL_TRANSACTION ||
    code.startsWith('57P') ||
    code.startsWith('08')
  );
}

/** Translates what a statement or a connection threw. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = sqlState(error);
  if (code === undefined) return new StoreError('unavailable', message, { cause: error });
  if (code.startsWith('P0')) {
    // Its text may quote a plant.
    const says = 'a trigger or a function of the database has failed';
    const remedy = 'the log has its text';
    return new StoreError('unavailable', `${says} (SQLSTATE ${code}); ${remedy}`, { cause: error });
  }
  const isDefect = defects.has(code.slice(0, 2)) && !mendable.has(code);
  const failure = isDefect ? 'defect' : 'unavailable';
  const remedy = code === INSUFFICIENT_PRIVILEGE ? '; doctor prints the missing GRANT' : '';
  return new StoreError(failure, `${message} (SQLSTATE ${code})${remedy}`, { cause: error });
}
