import { after } from 'node:test';
import { type ServerWithStore, startServer, storePath } from './program.ts';
import { alterStore } from './store-file.ts';

/**
 * Starts one server for those tests of a file that leave it as it was but for its plants; a start
 * costs more than they do.
 *
 * @returns what gives it to a test, without any plants
 */
export async function shareServer(
  args: readonly string[] = [],
  path?: string,
  variables?: Parameters<typeof startServer>[3],
): Promise<() => ServerWithStore> {
  const store = path ?? (await storePath({ after }));
  const server = { ...(await startServer({ after }, store, args, variables)), store };
  return () => {
    alterStore(store, 'DELETE FROM plants');
    return server;
  };
}
