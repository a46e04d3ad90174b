import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { limits } from '../limits.ts';
import type { TokenReader, TokenRecord } from '../store/tokens.ts';
import type { Tally } from './tally.ts';

/** Whose token a refused token was: undefined if it was none, or if it is not known in time. */
export type FindEnded = (hash: Buffer) => Promise<Tally | undefined>;

/**
 * Names refused tokens: a token that is revoked or expired is still in the store. The requests that
 * have waited for one read of the tokens share one lookup of `limits.access.endedLookupsMax` tokens,
 * so that a flood of made-up tokens costs the store little. Further tokens stay unnamed.
 *
 * @param tallyOf undefined for a token that is in force
 * @param waitMs time that a request waits for the lookup
 */
export function nameEndedTokens(
  store: Pick<TokenReader, 'findTokens'>,
  tallyOf: (token: TokenRecord) => Tally | undefined,
  waitMs: number,
): FindEnded {
  const { endedLookupsMax, unknownKeptMs } = limits.access;
  /** By hash, as are all maps here. */
  const ended = new Map<string, Tally>();
  /** `performance.now()` of the lookup that has not found the token. */
  const unknown = new Map<string, number>();
  const wanted = new Map<string, Buffer>();
  let isReading = false;
  let answered: Promise<void> | undefined;

  async function lookUp(): Promise<void> {
    // By then, all requests that have waited for the same read have asked.
    await setImmediate();
    isReading = true;
    const found = await store.findTokens([...wanted.values()]).catch(() => undefined);
    isReading = false;
    answered = undefined;
    const byHash = new Map(found?.map((token) => [keyOf(token.hash), token]));
    for (const key of found ? wanted.keys() : []) note(key, byHash.get(key));
    wanted.clear();
  }

  function note(key: string, token: TokenRecord | undefined): void {
    if (token === undefined) return remember(unknown, key, performance.now());
    const tally = tallyOf(token);
    if (tally) remember(ended, key, tally);
  }

  /** @returns whether the lookup under way, or the next one, is for this token, too */
  function ask(key: string, hash: Buffer): boolean {
    if (wanted.has(key)) return true;
    if (isReading || wanted.size >= endedLookupsMax) return false;
    wanted.set(key, hash);
    return true;
  }

  return async (hash) => {
    const key = keyOf(hash);
    const isUnknown = performance.now() - (unknown.get(key) ?? -Infinity) < unknownKeptMs;
    if (!isUnknown && !ended.has(key) && ask(key, hash)) {
      answered ??= Promise.race([lookUp(), delay(waitMs, undefined, { ref: false })]);
      await answered;
    }
    return ended.get(key);
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size >= limits.access.endedRememberedMax) map.delete(oldest);
  map.set(key, value);
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1');
}
