import { mergeTokens } from '../token-merge.ts';
import type {
  CopiedTokens,
  NewSubject,
  NewToken,
  Rate,
  RefusedTokens,
  TokenRecord,
  TokenUse,
} from '../tokens.ts';
import { isLive, isToken, tokenRecords } from './token-rows.ts';
import type { TransactionBase } from './transaction-base.ts';

/** The last use never goes back in time. */
export const touchTokenSql =
  'UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?';

export function tokenTransactions(base: TransactionBase) {
  const { prepare, transact } = base;
  const countLive = prepare(`SELECT count(*) AS n FROM tokens WHERE ${isLive} AND ${isToken}`);
  const insert = prepare(
    'INSERT INTO tokens (name, hash, role, created_at, expires_at, rate_per_day, burst) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING',
  );
  const revoke = prepare(
    `UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL AND ${isToken}`,
  );
  const limit = prepare(
    `UPDATE tokens SET rate_per_day = ?, burst = ? WHERE name = ? AND revoked_at IS NULL AND ${isToken}`,
  );
  const touch = prepare(touchTokenSql);
  return {
    createToken({ token, liveMax }: { token: NewToken; liveMax: number }) {
      const { name, hash, role, createdAtMs, expiresAtMs = null, rate } = token;
      const limit = [rate?.perDay ?? null, rate?.burst ?? null];
      return transact(() => {
        if (Number(countLive.get(createdAtMs)?.['n']) >= liveMax) return 'too many';
        const { changes } = insert.run(name, hash, role, createdAtMs, expiresAtMs, ...limit);
        return changes === 1n ? 'created' : 'name taken';
      });
    },
    revokeToken: ({ name, atMs }: { name: string; atMs: number }): boolean =>
      transact(() => revoke.run(atMs, name).changes === 1n),
    limitToken: ({ name, rate }: { name: string; rate: Rate | undefined }): boolean =>
      transact(() => limit.run(rate?.perDay ?? null, rate?.burst ?? null, name).changes === 1n),
    ensureSubject: prepareSubjects(base),
    copyTokens: prepareCopy(base),
    recordTokenUse(uses: readonly TokenUse[]): void {
      transact(() => {
        for (const { id, atMs } of uses) touch.run(atMs, id);
      });
    },
  };
}

function prepareSubjects({ prepare, transact }: TransactionBase) {
  const find = prepare('SELECT id FROM tokens WHERE hash = ?');
  const insert = prepare(
    `INSERT INTO tokens (name, hash, role, created_at) SELECT ?, ?, 'subject', ?
     WHERE (SELECT count(*) FROM tokens WHERE role = 'subject') < ? RETURNING id`,
  );
  const idOf = (row: ReturnType<typeof find.get>) => (row ? Number(row['id']) : undefined);
  return ({ subject, subjectsMax }: { subject: NewSubject; subjectsMax: number }) => {
    const { name, hash, createdAtMs } = subject;
    return transact(
      () => idOf(find.get(hash)) ?? idOf(insert.get(name, hash, createdAtMs, subjectsMax)),
    );
  };
}

interface TokenCopy {
  readonly tokens: readonly TokenRecord[];
  readonly liveMax: number;
  readonly nowMs: number;
}

function prepareCopy({ db, prepare, transact }: TransactionBase) {
  const renew = prepare('UPDATE tokens SET revoked_at = ?, last_used_at = ? WHERE id = ?');
  const insert = prepare(
    'INSERT INTO tokens (id, name, hash, role, created_at, expires_at, revoked_at, last_used_at, rate_per_day, burst) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return ({ tokens, liveMax, nowMs }: TokenCopy): CopiedTokens | RefusedTokens =>
    transact(() => {
      const merged = mergeTokens(tokenRecords(db), tokens, liveMax, nowMs);
      if (!('ids' in merged)) return merged;
      for (const { id, revokedAtMs = null, lastUsedAtMs = null } of merged.changed)
        renew.run(revokedAtMs, lastUsedAtMs, id);
      for (const { id, name, hash, role, createdAtMs, rate, ...times } of merged.added) {
        const limit = [rate?.perDay ?? null, rate?.burst ?? null];
        const { expiresAtMs = null, revokedAtMs = null, lastUsedAtMs = null } = times;
        insert.run(
          ...[id, name, hash, role, createdAtMs, expiresAtMs, revokedAtMs, lastUsedAtMs, ...limit],
        );
      }
      return { ids: merged.ids };
    });
}
