import type { CopiedTokens, RefusedTokens, TokenRecord } from './tokens.ts';

/**
 * Merges tokens by their hashes. An existing token keeps its id, and is revoked if either copy is
 * revoked: a copy never undoes a revocation, nor a rotation. Other tokens get the next free ids.
 *
 * @param there all tokens of the store, in order of id
 * @returns as `written`, new tokens, and existing ones with new values
 */
export function mergeTokens(
  there: readonly TokenRecord[],
  copied: readonly TokenRecord[],
  liveMax: number,
  nowMs: number,
): (CopiedTokens & { readonly written: readonly TokenRecord[] }) | RefusedTokens {
  const all = new Map(there.map((token) => [hashOf(token), token]));
  const ids = new Map<number, number>();
  let lastId = there.at(-1)?.id ?? 0;
  const written = copied.map((token) => {
    const before = all.get(hashOf(token));
    const merged = before ? joined(before, token) : { ...token, id: (lastId += 1) };
    all.set(hashOf(token), merged);
    ids.set(token.id, merged.id);
    return merged;
  });

  const inForce = [...all.values()].filter(({ revokedAtMs }) => revokedAtMs === undefined);
  const current = inForce.filter(({ rotatedAtMs }) => rotatedAtMs === undefined);
  const nameTaken = firstTwice(current.map(({ name }) => name));
  if (nameTaken !== undefined) return { nameTaken };
  const live = inForce.filter(
    ({ role, expiresAtMs = Number.POSITIVE_INFINITY }) => role !== 'subject' && expiresAtMs > nowMs,
  );
  if (live.length > liveMax) return { tooMany: live.length };
  return { written, ids };
}

function hashOf({ hash }: TokenRecord): string {
  return Buffer.from(hash).toString('hex');
}

function joined(before: TokenRecord, copied: TokenRecord): TokenRecord {
  const { revokedAtMs, revokedBy } = before.revokedAtMs === undefined ? copied : before;
  return {
    ...before,
    expiresAtMs: chosen(Math.min, before.expiresAtMs, copied.expiresAtMs),
    rotatedAtMs: chosen(Math.min, before.rotatedAtMs, copied.rotatedAtMs),
    lastUsedAtMs: chosen(Math.max, before.lastUsedAtMs, copied.lastUsedAtMs),
    createdBy: before.createdBy ?? copied.createdBy,
    revokedAtMs,
    revokedBy,
  };
}

function chosen(choose: typeof Math.min, ...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : choose(...known);
}

function firstTwice(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
