import { limits } from '../../limits.ts';
import type { BackupRecord } from '../backups.ts';
import type { JobRun } from '../jobs.ts';
import { isSessionInForce, type NewSession } from '../sessions.ts';
import { mergeTokens } from '../token-merge.ts';
import { planRotation } from '../token-rotation.ts';
import {
  type CopiedTokens,
  isLaterUse,
  type NewToken,
  type Rate,
  type RefusedRotation,
  type RefusedTokens,
  type RotatedToken,
  revocationColumn,
  type Subject,
  type SubjectBounds,
  subjectsToForget,
  type TokenRecord,
  type TokenRotation,
  type TokenUse,
} from '../tokens.ts';
import { isLive, isToken, tokenRecords } from './token-rows.ts';
import { inTransaction, type Query } from './transaction.ts';

/** Changes of tokens, sessions and backups are serialized over all nodes, by a row lock. */
function withStoreLock<T>(query: Query, change: () => Promise<T>): Promise<T> {
  return inTransaction(query, async () => {
    await query('SELECT id FROM plant_store WHERE id = 1 FOR UPDATE');
    return change();
  });
}

const isNotRevoked = `(revoked_at IS NULL OR revoked_at < 0) AND ${isToken}`;

export function createToken(query: Query, token: NewToken, liveMax: number) {
  return withStoreLock(query, async () => {
    if ((await countLive(query, token.createdAtMs)) >= liveMax) return 'too many';
    const { rows } = await query(
      'SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND name = $1',
      [token.name],
    );
    if (Number(rows[0]?.[0]) > 0) return 'name taken';
    await insertToken(query, token);
    return 'created';
  });
}

async function countLive(query: Query, nowMs: number): Promise<number> {
  const { rows } = await query(`SELECT count(*) FROM tokens WHERE ${isLive} AND ${isToken}`, [
    nowMs,
  ]);
  return Number(rows[0]?.[0]);
}

async function insertToken(
  query: Query,
  { name, hash, role, createdAtMs, expiresAtMs, rate, createdBy }: NewToken,
): Promise<void> {
  await query(
    `INSERT INTO tokens (id, name, hash, role, created_at, expires_at, rate_per_day, burst, made_by)
     SELECT coalesce(max(id), 0) + 1, $1::text, $2::bytea, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::text
     FROM tokens`,
    [name, hash, role, createdAtMs, expiresAtMs, rate?.perDay, rate?.burst, createdBy],
  );
}

export function rotateToken(
  query: Query,
  rotation: TokenRotation,
  liveMax: number,
): Promise<RotatedToken | RefusedRotation> {
  const { name, atMs, by } = rotation;
  return withStoreLock(query, async () => {
    const named = await tokenRecords(
      query,
      `WHERE name = $1 AND ${isNotRevoked} ORDER BY id`,
      name,
    );
    const plan = planRotation(named, await countLive(query, atMs), rotation, liveMax);
    if (typeof plan === 'string' || 'inForceUntilMs' in plan) return plan;
    const { token, rotated, revoked } = plan;
    const end = 'UPDATE tokens SET revoked_at = $1, revoked_by = $2 WHERE id = ANY($3::bigint[])';
    await query(end, [atMs, by, revoked]);
    if (rotated)
      await query('UPDATE tokens SET revoked_at = $1, expires_at = $2 WHERE id = $3', [
        -atMs,
        rotated.untilMs,
        rotated.id,
      ]);
    await insertToken(query, token);
    return { token, previousUntilMs: rotated?.untilMs };
  });
}

export function limitToken(query: Query, name: string, rate: Rate | undefined): Promise<boolean> {
  return changeToken(query, 'rate_per_day = $2, burst = $3', name, rate?.perDay, rate?.burst);
}

export function revokeToken(
  query: Query,
  name: string,
  atMs: number,
  by: string | undefined,
): Promise<boolean> {
  return changeToken(query, 'revoked_at = $2, revoked_by = $3', name, atMs, by);
}

/** With the lock, so that a secret of a rotation at the same time is not left out. */
function changeToken(query: Query, set: string, ...values: unknown[]): Promise<boolean> {
  return withStoreLock(query, async () => {
    const { rowCount } = await query(
      `UPDATE tokens SET ${set} WHERE name = $1 AND ${isNotRevoked}`,
      values,
    );
    return Number(rowCount) > 0;
  });
}

export function ensureSubject(
  query: Query,
  { name, hash, atMs }: Subject,
  bounds: SubjectBounds,
): Promise<number> {
  return withStoreLock(query, async () => {
    const known = await query(
      `UPDATE tokens SET last_used_at = CASE WHEN ${isLaterUse('$1::bigint')} THEN $1 ELSE last_used_at END
       WHERE hash = $2 RETURNING id`,
      [atMs, hash],
    );
    if (known.rows[0]) return Number(known.rows[0][0]);
    const { rows } = await query("SELECT count(*) FROM tokens WHERE role = 'subject'");
    const forgotten = subjectsToForget(Number(rows[0]?.[0]), bounds);
    if (forgotten > 0) await forgetSubjects(query, atMs - bounds.subjectIdleMs, forgotten);
    const made = await query(
      `INSERT INTO tokens (id, name, hash, role, created_at, last_used_at)
       SELECT coalesce(max(id), 0) + 1, $1::text, $2::bytea, 'subject', $3::bigint, $3::bigint FROM tokens RETURNING id`,
      [name, hash, atMs],
    );
    return Number(made.rows[0]?.[0]);
  });
}

/** The row with the greatest id stays, so that no id comes again. */
async function forgetSubjects(query: Query, unusedSinceMs: number, count: number): Promise<void> {
  await query(
    `DELETE FROM tokens WHERE id IN (
      SELECT id FROM tokens WHERE role = 'subject' AND coalesce(last_used_at, created_at) <= $1
        AND id < (SELECT max(id) FROM tokens) AND id NOT IN (SELECT token_id FROM sessions)
      ORDER BY coalesce(last_used_at, created_at), id LIMIT $2)`,
    [unusedSinceMs, count],
  );
}

export function copyTokens(
  query: Query,
  tokens: readonly TokenRecord[],
  liveMax: number,
  nowMs: number,
): Promise<CopiedTokens | RefusedTokens> {
  return withStoreLock(query, async () => {
    const merged = mergeTokens(await tokenRecords(query, 'ORDER BY id'), tokens, liveMax, nowMs);
    if (!('ids' in merged)) return merged;
    await query(
      `UPDATE tokens SET expires_at = merged.expires_at, revoked_at = merged.revoked_at, last_used_at = merged.last_used_at,
         made_by = merged.made_by, revoked_by = merged.revoked_by
       FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
         AS new (id, expires_at, revoked_at, last_used_at, made_by, revoked_by)) AS merged
       WHERE tokens.id = merged.id`,
      [
        ...columnsOf(merged.changed, ['id', 'expiresAtMs']),
        merged.changed.map(revocationColumn),
        ...columnsOf(merged.changed, ['lastUsedAtMs', 'createdBy', 'revokedBy']),
      ],
    );
    await query(
      `INSERT INTO tokens (id, name, hash, role, created_at, expires_at, revoked_at, last_used_at, rate_per_day, burst, made_by, revoked_by)
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[])`,
      [
        ...columnsOf(merged.added, ['id', 'name', 'hash', 'role', 'createdAtMs']),
        ...columnsOf(merged.added, ['expiresAtMs']),
        merged.added.map(revocationColumn),
        ...columnsOf(merged.added, ['lastUsedAtMs']),
        merged.added.map(({ rate }) => rate?.perDay),
        merged.added.map(({ rate }) => rate?.burst),
        ...columnsOf(merged.added, ['createdBy', 'revokedBy']),
      ],
    );
    return { ids: merged.ids };
  });
}

function columnsOf(
  tokens: readonly TokenRecord[],
  names: readonly (keyof TokenRecord)[],
): unknown[][] {
  return names.map((name) => tokens.map((token) => token[name]));
}

export async function recordTokenUse(query: Query, uses: readonly TokenUse[]): Promise<void> {
  await withStoreLock(query, () =>
    query(
      `UPDATE tokens SET last_used_at = used.at
       FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS new (id, at)) AS used
       WHERE tokens.id = used.id AND ${isLaterUse('used.at')}`,
      [uses.map(({ id }) => id), uses.map(({ atMs }) => atMs)],
    ),
  );
}

export async function createSession(
  query: Query,
  { hash, tokenId, createdAtMs, expiresAtMs }: NewSession,
  perTokenMax: number,
): Promise<void> {
  await withStoreLock(query, async () => {
    await query(
      `DELETE FROM sessions WHERE NOT ${isSessionInForce('$1::bigint')} OR token_id NOT IN (SELECT id FROM tokens WHERE ${isLive})`,
      [createdAtMs],
    );
    await query(
      `DELETE FROM sessions WHERE hash IN (
        SELECT hash FROM sessions WHERE token_id = $1 ORDER BY expires_at DESC OFFSET $2
      )`,
      [tokenId, perTokenMax - 1],
    );
    await query('INSERT INTO sessions (hash, token_id, expires_at) VALUES ($1, $2, $3)', [
      hash,
      tokenId,
      expiresAtMs,
    ]);
    await query(
      `UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND ${isLaterUse('$1::bigint')}`,
      [createdAtMs, tokenId],
    );
  });
}

export async function removeSession(query: Query, hash: Uint8Array): Promise<boolean> {
  const { rowCount } = await query('DELETE FROM sessions WHERE hash = $1', [hash]);
  return rowCount === 1;
}

export async function removeSessionsOf(query: Query, tokenId: number): Promise<void> {
  await query('DELETE FROM sessions WHERE token_id = $1', [tokenId]);
}

/** A row for each node: no node waits. `forgetOldBeats` removes rows of stopped nodes. */
export async function beat(query: Query, node: bigint, atMs: number): Promise<void> {
  await query(
    'INSERT INTO heartbeat (node, beaten_at) VALUES ($1, $2) ON CONFLICT (node) DO UPDATE SET beaten_at = excluded.beaten_at',
    [node, atMs],
  );
}

export async function forgetOldBeats(query: Query, nowMs: number): Promise<void> {
  // One far in the future is of a clock that was ahead, and would hide the last one.
  await query('DELETE FROM heartbeat WHERE NOT beaten_at BETWEEN $1 AND $2', [
    nowMs - limits.postgres.heartbeatKeptMs,
    nowMs + limits.postgres.heartbeatKeptMs,
  ]);
}

export async function recordBackup(
  query: Query,
  { file, finishedAtMs, plants, digest }: BackupRecord,
): Promise<void> {
  await withStoreLock(query, async () => {
    await query(
      `INSERT INTO backups (id, file, finished_at, plants, digest)
       SELECT coalesce(max(id), 0) + 1, $1::text, $2::bigint, $3::bigint, $4::text FROM backups`,
      [file, finishedAtMs, plants, digest],
    );
    await query('DELETE FROM backups WHERE id <= (SELECT max(id) FROM backups) - $1', [
      limits.store.backupsRecorded,
    ]);
  });
}

export async function recordJob(
  query: Query,
  { name, atMs, tookMs, fault }: JobRun,
): Promise<void> {
  const isFault = fault !== undefined;
  await query(
    `INSERT INTO jobs (name, ran_at, fault, succeeded_at, took_ms) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, fault = excluded.fault,
       succeeded_at = coalesce(excluded.succeeded_at, jobs.succeeded_at),
       took_ms = coalesce(excluded.took_ms, jobs.took_ms)`,
    [name, atMs, fault, isFault ? undefined : atMs, isFault ? undefined : tookMs],
  );
}
