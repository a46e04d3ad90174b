import { limits } from '../limits.ts';
import { listedTokenName, type TokenReader } from '../store/tokens.ts';
import { bestEffort } from './best-effort.ts';
import type { RecentRequest } from './recent-requests.ts';

/**
 * Names the tokens of refused requests: a token that is revoked or expired is still in the store.
 * Looks up `limits.ops.tokenLookupsMax` tokens at a time, the newest first, so that a flood of
 * made-up tokens costs the store little. Other tokens stay unnamed.
 */
export function nameRefusedTokens(store: Pick<TokenReader, 'findToken'>) {
  /** By hash; undefined for a token that is not in the store. */
  const names = new Map<string, string | undefined>();

  async function lookUp(key: string, hash: Uint8Array): Promise<void> {
    const found = await store.findToken(hash);
    if (names.size >= limits.ops.tokenNamesMax) names.clear();
    names.set(key, found && listedTokenName(found.name));
  }

  return async (requests: readonly RecentRequest[]): Promise<readonly RecentRequest[]> => {
    const asked = new Map<string, Uint8Array>();
    for (const { tokenHash } of requests.toReversed()) {
      if (asked.size >= limits.ops.tokenLookupsMax) break;
      if (tokenHash && !names.has(keyOf(tokenHash))) asked.set(keyOf(tokenHash), tokenHash);
    }
    await bestEffort(Promise.all([...asked].map(([key, hash]) => lookUp(key, hash))));
    return requests.map((request) =>
      request.tokenHash ? { ...request, sender: names.get(keyOf(request.tokenHash)) } : request,
    );
  };
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64');
}
