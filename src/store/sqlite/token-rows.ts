import type { DatabaseSync } from 'node:sqlite';
import type { Rate, TokenCounts, TokenRecord } from '../tokens.ts';

/** Condition on `tokens`: neither revoked nor expired at the time `?1`. */
export const isLive = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)';

/** Condition on `tokens`: not a subject. */
export const isToken = "role <> 'subject'";

/** In order of creation. @param where conditions on `tokens`; none by default */
export function tokenRecords(
  db: DatabaseSync,
  where = '',
  ...values: (Uint8Array | number)[]
): TokenRecord[] {
  const select = db.prepare(`SELECT * FROM tokens ${where} ORDER BY id`);
  return select.all(...values).map((row) => ({
    id: row['id'] as number,
    name: row['name'] as string,
    hash: row['hash'] as Uint8Array,
    role: row['role'] as TokenRecord['role'],
    createdAtMs: row['created_at'] as number,
    expiresAtMs: (row['expires_at'] as number | null) ?? undefined,
    revokedAtMs: (row['revoked_at'] as number | null) ?? undefined,
    lastUsedAtMs: (row['last_used_at'] as number | null) ?? undefined,
    // A store of an earlier version does not have the columns.
    rate: rateOf(row['rate_per_day'], row['burst']),
  }));
}

function rateOf(perDay: unknown, burst: unknown): Rate | undefined {
  return typeof perDay === 'number' && typeof burst === 'number' ? { perDay, burst } : undefined;
}

/** Condition on `tokens`: the token of the session with the hash `?` that is valid at `?`. */
export const ofSession =
  'WHERE id = (SELECT token_id FROM sessions WHERE sessions.hash = ? AND sessions.expires_at > ?)';

type TokenColumns = Record<'total' | 'valid' | 'revoked' | 'inUse', number>;

export function countTokens(db: DatabaseSync, nowMs: number, usedSinceMs: number): TokenCounts {
  const columns = `count(revoked_at) AS revoked, count(*) FILTER (WHERE ${isLive}) AS valid, count(*) AS total,
    count(*) FILTER (WHERE ${isLive} AND last_used_at > ?2) AS inUse`;
  const { total, valid, revoked, inUse } = db
    .prepare(`SELECT ${columns} FROM tokens WHERE ${isToken}`)
    .get(nowMs, usedSinceMs) as TokenColumns;
  return { byState: { valid, expired: total - valid - revoked, revoked }, inUse };
}
