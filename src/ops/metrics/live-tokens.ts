import { limits } from '../../limits.ts';
import type { TokenReader, TokenRecord } from '../../store/tokens.ts';

/**
 * Reads the tokens in force on demand, at most once in `limits.ops.liveTokensEveryMs`, unless a read
 * has failed. Calls share a read.
 *
 * @param now milliseconds since the epoch
 * @returns the last read, without the tokens that have expired since
 */
export function readTokensRarely(
  store: TokenReader,
  now: () => number,
): () => Promise<readonly TokenRecord[]> {
  let dueMs = Number.NEGATIVE_INFINITY;
  let read: Promise<readonly TokenRecord[]> = Promise.resolve([]);
  return async () => {
    if (performance.now() >= dueMs) {
      dueMs = performance.now() + limits.ops.liveTokensEveryMs;
      read = store.liveTokens(now());
      read.catch(() => {
        dueMs = Number.NEGATIVE_INFINITY;
      });
    }
    const nowMs = now();
    return (await read).filter(({ expiresAtMs = Number.POSITIVE_INFINITY }) => expiresAtMs > nowMs);
  };
}
