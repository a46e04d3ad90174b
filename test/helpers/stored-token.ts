import { issueToken } from '../../src/access/issue-token.ts';
import type { Role } from '../../src/store/store.ts';
import { openStore } from '../../src/stores.ts';

interface Wish {
  readonly role?: Role;
  readonly validMs?: number;
}

/** Makes a token in the store at the path, and the store if need be, without the cost of a process. @returns the token */
export async function storedToken(path: string, name: string, { role = 'create', validMs }: Wish = {}): Promise<string> {
  await using store = await openStore({ engine: 'sqlite', path }, 5_000);
  const issued = await issueToken(store, { name, role, validMs }, Date.now());
  if ('refusal' in issued) throw new Error(issued.message);
  return issued.token;
}
