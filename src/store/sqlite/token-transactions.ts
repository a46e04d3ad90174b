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
import type { TransactionBase } from './transaction-base.ts';

const touch = `UPDATE tokens SET last_used_at = iif(${isLaterUse('?1')}, ?1, last_used_at)`;
export const touchTokenSql = `${touch} WHERE id = ?2`;

export function tokenTransactions(base: TransactionBase) {
  const { prepare, transact } = base;
  const insertion = prepareInsertion(base);
  const revoke = prepare(
    `UPDATE tokens SET revoked_at = ?, revoked_by = ? WHERE name = ? AND ${isNotRevoked}`,
  );
  const limit = prepare(
    `UPDATE tokens SET rate_per_day = ?, burst = ? WHERE name = ? AND ${isNotRevoked}`,
  );
  const touch = prepare(touchTokenSql);
  return {
    createToken: ({ token, liveMax }: { token: NewToken; liveMax: number }) =>
      transact(() => {
        if (insertion.countLive(token.createdAtMs) >= liveMax) return 'too many';
        return insertion.insert(token) ? 'created' : 'name taken';
      }),
    rotateToken: prepareRotation(base, insertion),
    revokeToken: ({ name, atMs, by }: Revocation): boolean =>
      transact(() => revoke.run(atMs, by ?? null, name).changes > 0n),
    limitToken: ({ name, rate }: { name: string; rate: Rate | undefined }): boolean =>
      transact(() => limit.run(rate?.perDay ?? null, rate?.burst ?? null, name).changes > 0n),
    ensureSubject: prepareSubjects(base),
    copyTokens: prepareCopy(base),
    recordTokenUse(uses: readonly TokenUse[]): void {
      transact(() => {
        for (const { id, atMs } of uses) touch.run(atMs, id);
      });
    },
  };
}

interface Revocation {
  readonly name: string;
  readonly atMs: number;
  readonly by: string | undefined;
}

const isNotRevoked = `(revoked_at IS NULL OR revoked_at < 0) AND ${isToken}`;

function prepareInsertion({ prepare }: TransactionBase) {
  const count = prepare(`SELECT count(*) AS n FROM tokens WHERE ${isLive} AND ${isToken}`);
  const insert = prepare(
    'INSERT INTO tokens (name, hash, role, created_at, expires_at, rate_per_day, burst, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING',
  );
  return {
    countLive: (nowMs: number): number => Number(count.get(nowMs)?.['n']),
    /** @returns false if the name is taken */
    insert({ name, hash, role, createdAtMs, expiresAtMs, rate, createdBy }: NewToken): boolean {
      const rest = [expiresAtMs ?? null, rate?.perDay ?? null, rate?.burst ?? null];
      return insert.run(name, hash, role, createdAtMs, ...rest, createdBy ?? null).changes === 1n;
    },
  };
}

function prepareRotation(
  { db, prepare, transact }: TransactionBase,
  { countLive, insert }: ReturnType<typeof prepareInsertion>,
) {
  const end = prepare('UPDATE tokens SET revoked_at = ?, revoked_by = ? WHERE id = ?');
  const rotate = prepare('UPDATE tokens SET revoked_at = -?, expires_at = ? WHERE id = ?');
  interface Order {
    readonly rotation: TokenRotation;
    readonly liveMax: number;
  }
  return ({ rotation, liveMax }: Order): RotatedToken | RefusedRotation =>
    transact(() => {
      const { name, atMs, by = null } = rotation;
      const named = tokenRecords(db, `WHERE name = ? AND ${isNotRevoked}`, name);
      const plan = planRotation(named, countLive(atMs), rotation, liveMax);
      if (typeof plan === 'string' || 'inForceUntilMs' in plan) return plan;
      for (const id of plan.revoked) end.run(atMs, by, id);
      if (plan.rotated) rotate.run(atMs, plan.rotated.untilMs, plan.rotated.id);
      insert(plan.token);
      return { token: plan.token, previousUntilMs: plan.rotated?.untilMs };
    });
}

function prepareSubjects({ prepare, transact }: TransactionBase) {
  const find = prepare(`${touch} WHERE hash = ?2 RETURNING id`);
  const count = prepare("SELECT count(*) AS n FROM tokens WHERE role = 'subject'");
  // SQLite numbers a new row after the greatest id. That row stays, so that no id comes again.
  const forget = prepare(
    `DELETE FROM tokens WHERE id IN (
      SELECT id FROM tokens WHERE role = 'subject' AND coalesce(last_used_at, created_at) <= ?
        AND id < (SELECT max(id) FROM tokens) AND id NOT IN (SELECT token_id FROM sessions)
      ORDER BY coalesce(last_used_at, created_at), id LIMIT ?)`,
  );
  const insert = prepare(
    "INSERT INTO tokens (name, hash, role, created_at, last_used_at) VALUES (?, ?, 'subject', ?3, ?3) RETURNING id",
  );
  interface Order {
    readonly subject: Subject;
    readonly bounds: SubjectBounds;
  }
  return ({ subject: { name, hash, atMs }, bounds }: Order): number =>
    transact(() => {
      const known = find.get(atMs, hash);
      if (known) return Number(known['id']);
      const forgotten = subjectsToForget(Number(count.get()?.['n']), bounds);
      if (forgotten > 0) forget.run(atMs - bounds.subjectIdleMs, forgotten);
      return Number(insert.get(name, hash, atMs)?.['id']);
    });
}

interface TokenCopy {
  readonly tokens: readonly TokenRecord[];
  readonly liveMax: number;
  readonly nowMs: number;
}

function prepareCopy({ db, prepare, transact }: TransactionBase) {
  const renew = prepare(
    'UPDATE tokens SET expires_at = ?, revoked_at = ?, last_used_at = ?, made_by = ?, revoked_by = ? WHERE id = ?',
  );
  const insert = prepare(
    'INSERT INTO tokens (id, name, hash, role, created_at, expires_at, revoked_at, last_used_at, rate_per_day, burst, made_by, revoked_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return ({ tokens, liveMax, nowMs }: TokenCopy): CopiedTokens | RefusedTokens =>
    transact(() => {
      const merged = mergeTokens(tokenRecords(db), tokens, liveMax, nowMs);
      if (!('ids' in merged)) return merged;
      for (const token of merged.changed)
        renew.run(...timesOf(token), ...actorsOf(token), token.id);
      for (const token of merged.added) {
        const { id, name, hash, role, createdAtMs, rate } = token;
        const limit = [rate?.perDay ?? null, rate?.burst ?? null];
        const rest = [...timesOf(token), ...limit, ...actorsOf(token)];
        insert.run(id, name, hash, role, createdAtMs, ...rest);
      }
      return { ids: merged.ids };
    });
}

/** The columns `expires_at`, `revoked_at` and `last_used_at`. */
function timesOf(token: TokenRecord) {
  const { expiresAtMs = null, lastUsedAtMs = null } = token;
  return [expiresAtMs, revocationColumn(token) ?? null, lastUsedAtMs];
}

/** The columns `made_by` and `revoked_by`. */
function actorsOf({ createdBy, revokedBy }: TokenRecord) {
  return [createdBy ?? null, revokedBy ?? null];
}
