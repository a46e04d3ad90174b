import assert from 'node:assert/strict';
import type { Store } from '../../src/store/store.ts';
import type { Rate, Role } from '../../src/store/tables/tokens.ts';
import { issueToken } from '../../src/tokens/issue-token.ts';
import { openOpaqueTokens } from '../../src/tokens/opaque-tokens.ts';
import { Tally } from '../../src/tokens/tally.ts';

/** The access by the tokens of a store, in one thread, but for what `more` changes. */
export function openTokens(
  store: Store,
  more: Partial<Parameters<typeof openOpaqueTokens>[0]> = {},
) {
  return openOpaqueTokens({
    ...{ store, fixedToken: undefined, threads: 1, now: Date.now },
    newTally: (id, name) => new Tally(id, name, []),
    // What cannot be read is not told.
    onError: () => undefined,
    ...more,
  });
}

/** What a test wants of a token. */
export interface Wish {
  readonly role?: Role;
  readonly validMs?: number | undefined;
  readonly rate?: Rate | undefined;
}

/** Makes a token. @returns its secret */
export async function issued(
  store: Store,
  name: string,
  { role = 'create', validMs, rate }: Wish = {},
  nowMs = Date.now(),
): Promise<string> {
  const made = await issueToken(store, { name, role, validMs, rate }, nowMs);
  assert('token' in made);
  return made.token;
}
