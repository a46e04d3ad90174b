import assert from 'node:assert/strict';
import { issueToken } from '../../src/access/issue-token.ts';
import { storeLocation } from '../../src/config/store-location.ts';
import { limits } from '../../src/limits.ts';
import type { Rate, Role } from '../../src/store/tokens.ts';
import { openStore } from '../../src/stores.ts';
import { storeText } from './program.ts';

interface Wish {
  readonly role?: Role;
  readonly validMs?: number;
  readonly rate?: Rate;
}

/**
 * Makes a token, and the store if there is none, without the cost of a process.
 *
 * @param store the path of a file, or the URL of a database
 */
export async function storedToken(
  store: string,
  name: string,
  { role = 'create', validMs, rate }: Wish = {},
): Promise<string> {
  await using opened = await openStore(storeLocation(storeText(store), {}), limits.cli.lockMs);
  const issued = await issueToken(opened, { name, role, validMs, rate }, Date.now());
  assert('token' in issued);
  return issued.token;
}
