import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { limits } from '../limits.ts';
import type { TableReader } from '../store/tables/tables.ts';
import type { NewTally, Tally } from './tally.ts';

type Found = ReadonlyMap<string, Tally>;

/**
 * Finds the tallies of refused tokens: a token that is revoked or expired is still in the store.
 * The requests that waited for one read of the tokens share one lookup of
 * `limits.access.endedLookupsMax` tokens: a flood of made-up tokens costs the store little, and a
 * flood of one ended token makes one tally. Undefined for a token that is not found in `waitMs`.
 */
export function findEndedTokens(
  store: Pick<TableReader, 'findTokens'>,
  newTally: NewTally,
  waitMs: number,
) {
  const wanted = new Map<string, Buffer>();
  let lookup: Promise<Found> | undefined;

  async function lookUp(): Promise<Found> {
    // By then, all requests that have waited for the same read have asked.
    await setImmediate();
    const hashes = [...wanted.values()];
    wanted.clear();
    lookup = undefined;
    const found = await store.findTokens(hashes).catch(() => []);
    return new Map(found.map(({ hash, id, name }) => [keyOf(hash), newTally(id, name)]));
  }

  return async (hash: Buffer) => {
    const key = keyOf(hash);
    if (!wanted.has(key) && wanted.size >= limits.access.endedLookupsMax) return undefined;
    wanted.set(key, hash);
    lookup ??= Promise.race([lookUp(), delay<Found>(waitMs, new Map(), { ref: false })]);
    return (await lookup).get(key);
  };
}

function keyOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1');
}
