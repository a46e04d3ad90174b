import { limits } from '../../limits.ts';
import type { TokenReader, TokenRecord } from '../../store/tokens.ts';
import { reused } from '../reused.ts';

/**
 * Reads the tokens in force on demand, at most once in `limits.ops.liveTokensEveryMs`, unless a read
 * has failed.
 *
 * @param now milliseconds since the epoch
 * @returns the last read, without the tokens that have expired since
 */
export function readTokensRarely(
  store: TokenReader,
  now: () => number,
): () => Promise<readonly TokenRecord[]> {
  const read = reused(() => store.liveTokens(now()), { forMs: limits.ops.liveTokensEveryMs });
  return async () => {
    const tokens = await read();
    const nowMs = now();
    return tokens.filter(({ expiresAtMs = Number.POSITIVE_INFINITY }) => expiresAtMs > nowMs);
  };
}
