import type { Store } from '../store.ts';
import { openSqliteReader } from './reader.ts';
import { startWriter } from './writer.ts';

/**
 * A store in one SQLite file: reads on the calling thread, writes on a thread of their own.
 *
 * @param lockMs how long a write waits for another process to finish its own
 * @throws StoreOpenError
 */
export async function openSqliteStore(path: string, lockMs: number): Promise<Store> {
  const writer = await startWriter({ path, lockMs });
  const reader = openSqliteReader(path);
  const close = async () => {
    await reader.close();
    // Last, so that closing checkpoints the log into the file and removes it.
    await writer.close();
  };
  return {
    ...reader,
    createPlants: (plants) => writer.run('createPlants', plants),
    createToken: (token, liveMax) => writer.run('createToken', { token, liveMax }),
    revokeToken: (name, atMs) => writer.run('revokeToken', { name, atMs }),
    recordTokenUse: (uses) => writer.run('recordTokenUse', uses),
    close,
    [Symbol.asyncDispose]: close,
  };
}
