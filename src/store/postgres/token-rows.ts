import { revocationOf, type TokenCounts, type TokenRecord } from '../tokens.ts';
import { sqlState, UNDEFINED_COLUMN } from './errors.ts';
import type { Query } from './transaction.ts';

const columnsOfVersion1 = 'id, name, hash, role, created_at, expires_at, revoked_at, last_used_at';
const columnsOfVersion2 = `${columnsOfVersion1}, rate_per_day, burst`;
const columns = `${columnsOfVersion2}, made_by, revoked_by`;

/** @param which conditions and order */
export async function tokenRecords(
  query: Query,
  which: string,
  ...values: unknown[]
): Promise<TokenRecord[]> {
  const select = (from: string) => query(`SELECT ${from} FROM tokens ${which}`, values);
  // A store of an earlier version does not have all columns.
  const { rows } = await select(columns)
    .catch((error) => selectOlder(error, () => select(columnsOfVersion2)))
    .catch((error) => selectOlder(error, () => select(columnsOfVersion1)));
  return rows.map((row) => {
    const [id, name, hash, role, createdAt, expiresAt, revokedAt, lastUsedAt, ...added] = row;
    const [perDay, burst, createdBy, revokedBy] = added;
    return {
      ...{ id: Number(id), name, hash, role, createdAtMs: Number(createdAt) },
      expiresAtMs: numberOf(expiresAt),
      ...revocationOf(numberOf(revokedAt)),
      lastUsedAtMs: numberOf(lastUsedAt),
      rate: perDay ? { perDay: Number(perDay), burst: Number(burst) } : undefined,
      createdBy: createdBy ?? undefined,
      revokedBy: revokedBy ?? undefined,
    };
  });
}

/** @throws the error, unless a column is missing */
function selectOlder<T>(error: unknown, select: () => Promise<T>): Promise<T> {
  if (sqlState(error) === UNDEFINED_COLUMN) return select();
  throw error;
}

/** Condition on `tokens`: neither revoked nor expired at the time `$1`. */
export const isLive =
  '(revoked_at IS NULL OR revoked_at < 0) AND (expires_at IS NULL OR expires_at > $1)';

/** Condition on `tokens`: not a subject. */
export const isToken = "role <> 'subject'";

export async function countTokens(
  query: Query,
  nowMs: number,
  usedSinceMs: number,
): Promise<TokenCounts> {
  const { rows } = await query(
    `SELECT count(*), count(*) FILTER (WHERE revoked_at >= 0),
      count(*) FILTER (WHERE ${isLive} AND revoked_at IS NULL),
      count(*) FILTER (WHERE ${isLive} AND revoked_at < 0),
      count(*) FILTER (WHERE ${isLive} AND last_used_at > $2)
     FROM tokens WHERE ${isToken}`,
    [nowMs, usedSinceMs],
  );
  const [total = 0, revoked = 0, valid = 0, rotated = 0, inUse = 0] = (rows[0] ?? []).map(Number);
  const expired = total - valid - rotated - revoked;
  return { byState: { valid, rotated, expired, revoked }, inUse };
}

function numberOf(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}
