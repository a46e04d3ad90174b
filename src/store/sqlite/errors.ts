import { StoreError, type StoreFailure } from '../errors.ts';

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
export const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
export const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
export const SQLITE_AUTH = 23;
export const SQLITE_NOTADB = 26;

/** The transaction was rolled back, and a retry may succeed. */
const passing = new Set([
  SQLITE_BUSY,
  SQLITE_LOCKED,
  SQLITE_READONLY,
  SQLITE_FULL,
  SQLITE_CANTOPEN,
]);

/** The index of the WAL could not grow, such as on a full disk. An extended result code. */
const SQLITE_IOERR_SHMSIZE = 4_874;

/** Whether the disk may have no room for a write, or for the WAL and its index. */
export function mayBeLackOfRoom(error: unknown): boolean {
  return lacksOfRoom.has(sqliteCode(error) as number);
}
const lacksOfRoom = new Set([SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN]);

/** After a failed read, write or sync the connection is unreliable. */
const fatal = new Set([SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB]);

/** Whether a file is no database, or a damaged one. */
export function isNoDatabase(error: unknown): boolean {
  return [SQLITE_NOTADB, SQLITE_CORRUPT].includes(sqliteCode(error) as number);
}

/** The primary result code of an error that SQLite threw, or undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;
}

/** Translates what a statement or transaction threw. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const failure = failureOf(error);
  // A failed read comes as damage, too.
  const remedy =
    failure === 'fatal'
      ? '; look for errors of the disk in the log of the kernel (dmesg), and verify the store'
      : '';
  return new StoreError(failure, message + remedy, { cause: error });
}

export function withStoreErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw storeError(error);
  }
}

function failureOf(error: unknown): StoreFailure {
  const code = sqliteCode(error);
  if (code === undefined) return 'defect';
  if (passing.has(code) || extendedCode(error) === SQLITE_IOERR_SHMSIZE) return 'unavailable';
  return fatal.has(code) ? 'fatal' : 'defect';
}
