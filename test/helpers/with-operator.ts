import { type Owner, oneThread, type RunningServer, startServer, storePath } from './program.ts';
import { storedToken } from './stored-token.ts';

/** A store, and the token of its operator, who is alice. */
export interface StoreWithOperator {
  readonly store: string;
  readonly token: string;
}

export interface ServerWithOperator extends StoreWithOperator {
  readonly server: RunningServer;
}

export async function makeStoreWithOperator(owner: Owner): Promise<StoreWithOperator> {
  const store = await storePath(owner);
  return { store, token: await storedToken(store, 'alice', { role: 'operate' }) };
}

export async function startWithOperator(
  owner: Owner,
  args: readonly string[] = [],
  variables?: Parameters<typeof startServer>[3],
): Promise<ServerWithOperator> {
  const made = await makeStoreWithOperator(owner);
  return {
    ...made,
    server: await startServer(owner, made.store, [...oneThread, ...args], variables),
  };
}
