import assert from 'node:assert/strict';
import { issueToken } from '../../src/access/issue-token.ts';
import { storeLocation } from '../../src/config/store-location.ts';
import { limits } from '../../src/limits.ts';
import { openStore } from '../../src/stores.ts';
import { storeText } from './program.ts';

/** Makes a token for the console, and the store if there is none. */
export async function operatorToken(store: string, name: string): Promise<string> {
  await using opened = await openStore(storeLocation(storeText(store), {}), limits.commandLockMs);
  const issued = await issueToken(opened, { name, role: 'operate', validMs: undefined }, Date.now());
  assert('token' in issued);
  return issued.token;
}
