import type { Role, TokenRecord } from '../store.ts';
import type { Query } from './pool.ts';

/** @param which conditions and order */
export async function tokenRecords(query: Query, which: string, ...values: unknown[]): Promise<TokenRecord[]> {
  const columns = 'id, name, hash, role, created_at, expires_at, revoked_at, last_used_at';
  const { rows } = await query(`SELECT ${columns} FROM tokens ${which}`, values);
  return rows.map(([id, name, hash, role, createdAt, expiresAt, revokedAt, lastUsedAt]) => ({
    id: Number(id),
    name: name as string,
    hash: hash as Uint8Array,
    role: role as Role,
    createdAtMs: Number(createdAt),
    expiresAtMs: numberOf(expiresAt),
    revokedAtMs: numberOf(revokedAt),
    lastUsedAtMs: numberOf(lastUsedAt),
  }));
}

function numberOf(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}
