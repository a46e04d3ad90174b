import type { DatabaseSync } from 'node:sqlite';
import { isSessionInForce } from '../sessions.ts';
import { type Rate, revocationOf, type TokenCounts, type TokenRecord } from '../tokens.ts';

/** Condition on `tokens`: neither revoked nor expired at the time `?1`. */
export const isLive =
  '(revoked_at IS NULL OR revoked_at < 0) AND (expires_at IS NULL OR expires_at > ?1)';

/** Condition on `tokens`: not a subject. */
export const isToken = "role <> 'subject'";

/** In order of creation. @param where conditions on `tokens`; none by default */
export function tokenRecords(
  db: DatabaseSync,
  where = '',
  ...values: (Uint8Array | number | string)[]
): TokenRecord[] {
  const select = db.prepare(`SELECT * FROM tokens ${where} ORDER BY id`);
  return select.all(...values).map((row) => ({
    id: row['id'] as number,
    name: row['name'] as string,
    hash: row['hash'] as Uint8Array,
    role: row['role'] as TokenRecord['role'],
    createdAtMs: row['created_at'] as number,
    expiresAtMs: (row['expires_at'] as number | null) ?? undefined,
    ...revocationOf((row['revoked_at'] as number | null) ?? undefined),
    lastUsedAtMs: (row['last_used_at'] as number | null) ?? undefined,
    // A store of an earlier version does not have the columns.
    rate: rateOf(row['rate_per_day'], row['burst']),
    createdBy: (row['made_by'] as string | null | undefined) ?? undefined,
    revokedBy: (row['revoked_by'] as string | null | undefined) ?? undefined,
  }));
}

function rateOf(perDay: unknown, burst: unknown): Rate | undefined {
  return typeof perDay === 'number' && typeof burst === 'number' ? { perDay, burst } : undefined;
}

/** Condition on `tokens`: the token of the session with the hash `?1` that is valid at `?2`. */
export const ofSession = `WHERE id = (SELECT token_id FROM sessions WHERE sessions.hash = ?1 AND ${isSessionInForce('?2')})`;

type TokenColumns = Record<'total' | 'valid' | 'rotated' | 'revoked' | 'inUse', number>;

export function countTokens(db: DatabaseSync, nowMs: number, usedSinceMs: number): TokenCounts {
  const columns = `count(*) FILTER (WHERE revoked_at >= 0) AS revoked, count(*) AS total,
    count(*) FILTER (WHERE ${isLive} AND revoked_at IS NULL) AS valid,
    count(*) FILTER (WHERE ${isLive} AND revoked_at < 0) AS rotated,
    count(*) FILTER (WHERE ${isLive} AND last_used_at > ?2) AS inUse`;
  const { total, valid, rotated, revoked, inUse } = db
    .prepare(`SELECT ${columns} FROM tokens WHERE ${isToken}`)
    .get(nowMs, usedSinceMs) as TokenColumns;
  const expired = total - valid - rotated - revoked;
  return { byState: { valid, rotated, expired, revoked }, inUse };
}
