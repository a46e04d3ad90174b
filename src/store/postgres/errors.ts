import { DatabaseError } from 'pg';
import { StoreError, StoreOpenError } from '../errors.ts';

/** SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html). */
export const SERIALIZATION_FAILURE = '40001';
export const DEADLOCK_DETECTED = '40P01';
export const FEATURE_NOT_SUPPORTED = '0A000';
export const READ_ONLY_SQL_TRANSACTION = '25006';
const TOO_MANY_CONNECTIONS = '53300';
export const PROTOCOL_VIOLATION = '08P01';
export const CHECK_VIOLATION = '23514';
export const PROGRAM_LIMIT_EXCEEDED = '54000';
const IDLE_SESSION_TIMEOUT = '57P05';
export const UNDEFINED_DATABASE = '3D000';
export const UNDEFINED_TABLE = '42P01';
export const QUERY_CANCELED = '57014';

export const DATA_CORRUPTED = 'XX001';
export const INDEX_CORRUPTED = 'XX002';
export const INSUFFICIENT_PRIVILEGE = '42501';
export const LOCK_NOT_AVAILABLE = '55P03';

/** Another session makes the same object. */
const madeByOthers = new Set(['23505', '42P06', '42P07', '42710', 'XX000']);

/**
 * Classes of errors whose cause is not a plant: the connection, the transaction, another session,
 * or the machine.
 */
const notOfPlants = new Set(['08', '25', '40', '53', '55', '57', '58', 'F0', 'XX']);
/** Of these, the classes that a function of the operator may cause by itself, as with NOWAIT. */
const ofFunctions = new Set(['08', '55', 'XX']);

/**
 * Whether the plants of a statement may be the reason why it has failed. RAISE chooses its code: a
 * trigger may refuse one plant with the code of a conflict, or of a server that ends.
 */
export function isOfPlants(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError) || error.code === undefined) return false;
  const kind = error.code.slice(0, 2);
  if (isRaised(error) || !notOfPlants.has(kind)) return true;
  return ofFunctions.has(kind) && error.where?.includes('PL/') === true;
}

function isRaised({ routine }: DatabaseError): boolean {
  return routine === 'exec_stmt_raise';
}

/**
 * Whether only the content of a plant can be the reason: a CHECK, an index, an expression. What a
 * row without a partition violates has no name.
 */
export function isOfContent(error: DatabaseError): boolean {
  const { code = '', constraint } = error;
  if (code === CHECK_VIOLATION) return constraint !== undefined;
  return code === PROGRAM_LIMIT_EXCEEDED || code.startsWith('22');
}

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

export function isMadeByOthers(error: unknown): boolean {
  return madeByOthers.has(sqlState(error) ?? '');
}

/** Whether the server takes no writes, or is gone. Other connections lead to it, too. */
export function isServerLost(error: unknown): boolean {
  if (error instanceof StoreError || error instanceof StoreOpenError) return false;
  const code = sqlState(error);
  return (
    code === undefined ||
    code === READ_ONLY_SQL_TRANSACTION ||
    code.startsWith('57P') ||
    code.startsWith('08')
  );
}

export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('unavailable', reasonIn(error), { cause: error });
}

/** For operators. It quotes no plant: values and the texts of triggers are left out. */
export function reasonIn(error: unknown): string {
  if (!(error instanceof DatabaseError))
    return error instanceof Error ? error.message : String(error);
  const { code = '', message, where } = error;
  // The texts of RAISE are the operator's.
  const isOfTrigger =
    code.startsWith('P0') || isRaised(error) || (where !== undefined && isOfPlants(error));
  const says = isOfTrigger
    ? 'a trigger or a function of the database has failed; the log of the server has its text'
    : code.startsWith('22')
      ? 'a text does not suit an index or a constraint of the database'
      : message;
  const isLacking = code === INSUFFICIENT_PRIVILEGE && !isOfTrigger;
  const remedy = isLacking ? '; doctor prints the missing GRANT' : '';
  return `${says} (SQLSTATE ${code})${remedy}`;
}
