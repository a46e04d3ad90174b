import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { BackupRecord } from '../backups.ts';
import type { CreateOutcome } from '../plants.ts';
import type { NewSession } from '../sessions.ts';
import { mergeTokens } from '../token-merge.ts';
import type { CopiedTokens, NewToken, RefusedTokens, TokenRecord, TokenUse } from '../tokens.ts';
import { type Columns, codeOf } from './batch.ts';
import { inTransaction } from './database.ts';
import { isLive, tokenRecords } from './reader.ts';

export type Transactions = ReturnType<typeof prepareTransactions>;

/**
 * The writes of a store: each function is one transaction, durable when it returns, rolled back
 * when it throws.
 *
 * @param lockMs how long a transaction waits for another process to finish its own
 * @param now the clock, in milliseconds since the epoch
 */
export function prepareTransactions(db: DatabaseSync, lockMs: number, now: () => number) {
  /**
   * `run` of any statement also reports the last id that the connection has stored; past 2^53 it
   * can only do so as a bigint.
   */
  function prepare(sql: string): StatementSync {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement;
  }

  const insertPlant = prepare(
    'INSERT INTO plants (id, name, tag, created_at, created_by) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  );
  const selectPlant = prepare('SELECT name, tag FROM plants WHERE id = ?');
  const countLiveTokens = prepare(`SELECT count(*) AS n FROM tokens WHERE ${isLive}`);
  const insertToken = prepare(
    'INSERT INTO tokens (name, hash, role, created_at, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING',
  );
  const revokeToken = prepare(
    'UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL',
  );
  const renewToken = prepare('UPDATE tokens SET revoked_at = ?, last_used_at = ? WHERE id = ?');
  const insertCopiedToken = prepare(
    'INSERT INTO tokens (id, name, hash, role, created_at, expires_at, revoked_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const touchToken = prepare(
    'UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?',
  );
  const insertSession = prepare(
    'INSERT INTO sessions (hash, token_id, expires_at) VALUES (?, ?, ?)',
  );
  const removeEndedSessions = prepare(
    `DELETE FROM sessions WHERE expires_at <= ?1 OR token_id NOT IN (SELECT id FROM tokens WHERE ${isLive})`,
  );
  const boundSessions = prepare(
    `DELETE FROM sessions WHERE hash IN (
      SELECT hash FROM sessions WHERE token_id = ? ORDER BY expires_at DESC LIMIT -1 OFFSET ?
    )`,
  );
  const deleteSession = prepare('DELETE FROM sessions WHERE hash = ?');
  const upsertBeat = prepare('INSERT OR REPLACE INTO heartbeat (id, beaten_at) VALUES (1, ?)');
  const insertBackup = prepare(
    'INSERT INTO backups (file, finished_at, plants, digest) VALUES (?, ?, ?, ?)',
  );
  const forgetBackups = prepare('DELETE FROM backups WHERE id <= ?');

  function createPlant(
    id: bigint,
    name: string,
    tag: string | null,
    createdAtMs: number,
    createdBy: number,
  ): CreateOutcome {
    if (insertPlant.run(id, name, tag, createdAtMs, createdBy).changes === 1n) return 'created';
    const stored = selectPlant.get(id);
    return stored?.['name'] === name && stored['tag'] === tag ? 'same' : 'taken';
  }

  function createBatch(
    { ids, names, tags, createdBys, createdAts }: Columns,
    nowMs: number,
  ): Uint8Array {
    const codes = new Uint8Array(ids.length);
    for (let index = 0; index < ids.length; index += 1) {
      const tag = tags[index] ?? null;
      const createdAtMs = createdAts?.[index] ?? nowMs;
      codes[index] = codeOf(
        createPlant(
          ids[index] as bigint,
          names[index] as string,
          tag,
          createdAtMs,
          createdBys[index] as number,
        ),
      );
    }
    return codes;
  }

  return {
    /** @returns for each batch, a code for the outcome of each of its plants */
    createPlants(batches: readonly Columns[]): Uint8Array[] {
      const nowMs = now();
      return inTransaction(db, lockMs, () => batches.map((batch) => createBatch(batch, nowMs)));
    },

    createToken({
      token,
      liveMax,
    }: {
      token: NewToken;
      liveMax: number;
    }): 'created' | 'name taken' | 'too many' {
      const { name, hash, role, createdAtMs, expiresAtMs = null } = token;
      return inTransaction(db, lockMs, () => {
        if (Number(countLiveTokens.get(createdAtMs)?.['n']) >= liveMax) return 'too many';
        return insertToken.run(name, hash, role, createdAtMs, expiresAtMs).changes === 1n
          ? 'created'
          : 'name taken';
      });
    },

    revokeToken({ name, atMs }: { name: string; atMs: number }): boolean {
      return inTransaction(db, lockMs, () => revokeToken.run(atMs, name).changes === 1n);
    },

    copyTokens({
      tokens,
      liveMax,
      nowMs,
    }: {
      tokens: readonly TokenRecord[];
      liveMax: number;
      nowMs: number;
    }): CopiedTokens | RefusedTokens {
      return inTransaction(db, lockMs, () => {
        const merged = mergeTokens(tokenRecords(db), tokens, liveMax, nowMs);
        if (!('ids' in merged)) return merged;
        for (const { id, revokedAtMs = null, lastUsedAtMs = null } of merged.changed)
          renewToken.run(revokedAtMs, lastUsedAtMs, id);
        for (const {
          id,
          name,
          hash,
          role,
          createdAtMs,
          expiresAtMs = null,
          revokedAtMs = null,
          lastUsedAtMs = null,
        } of merged.added) {
          insertCopiedToken.run(
            id,
            name,
            hash,
            role,
            createdAtMs,
            expiresAtMs,
            revokedAtMs,
            lastUsedAtMs,
          );
        }
        return { ids: merged.ids };
      });
    },

    recordTokenUse(uses: readonly TokenUse[]): void {
      inTransaction(db, lockMs, () => {
        for (const { id, atMs } of uses) touchToken.run(atMs, id);
      });
    },

    createSession({ session, perTokenMax }: { session: NewSession; perTokenMax: number }): void {
      const { hash, tokenId, createdAtMs, expiresAtMs } = session;
      inTransaction(db, lockMs, () => {
        removeEndedSessions.run(createdAtMs);
        boundSessions.run(tokenId, perTokenMax - 1);
        insertSession.run(hash, tokenId, expiresAtMs);
        touchToken.run(createdAtMs, tokenId);
      });
    },

    removeSession(hash: Uint8Array): void {
      inTransaction(db, lockMs, () => void deleteSession.run(hash));
    },

    beat(atMs: number): void {
      inTransaction(db, lockMs, () => void upsertBeat.run(atMs));
    },

    recordBackup({ file, finishedAtMs, plants, digest }: BackupRecord): void {
      inTransaction(db, lockMs, () => {
        const { lastInsertRowid } = insertBackup.run(file, finishedAtMs, plants, digest);
        forgetBackups.run(Number(lastInsertRowid) - limits.store.backupsRecorded);
      });
    },
  };
}
