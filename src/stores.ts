import type { StoreLocation } from './config/values.ts';
import { openSqliteReader } from './store/sqlite/reader.ts';
import { openSqliteStore } from './store/sqlite/store.ts';
import type { Store, StoreReader } from './store/store.ts';

/**
 * Opens the store that `--store` names, for reading and writing, and makes it if there is none.
 *
 * @param lockMs how long a write waits for another process to finish its own
 * @throws StoreOpenError
 */
export function openStore(location: StoreLocation, lockMs: number): Promise<Store> {
  return openSqliteStore(location.path, lockMs);
}

/** Opens the store for reading. @throws StoreOpenError if there is none */
export function openReader(location: StoreLocation): StoreReader {
  return openSqliteReader(location.path);
}
