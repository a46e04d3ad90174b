import { limits } from '../../limits.ts';
import { identityChanges } from './identity.ts';
import { type CallsOf, run, type Steps } from './steps.ts';
import { first, isLive, nextId, tokenChanges, tokenReads, tokenRecords } from './token-table.ts';
import type { TokenRecord } from './tokens.ts';

/** A session of the console, by the SHA-256 of its secret. Times are ms since the epoch. */
interface NewSession {
  readonly hash: Uint8Array;
  readonly tokenId: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A backup that was checked when it was made. */
export interface BackupRecord {
  readonly file: string;
  /** Milliseconds since the epoch. */
  readonly finishedAtMs: number;
  readonly plants: number;
  /** As in `PlantFigures`. */
  readonly digest: string;
}

/**
 * Condition on `sessions`. A session that ends much later than any that begins now is of a clock
 * that was ahead, and is not in force.
 *
 * @param now the place of a bigint, in milliseconds since the epoch
 */
function isInForce(now: string): string {
  const latest = `${now} + ${2 * limits.access.sessionMs}`;
  return `(sessions.expires_at > ${now} AND sessions.expires_at <= ${latest})`;
}

export const reads = {
  ...tokenReads,

  /** The token, revoked or not; undefined if the session does not exist or has expired. */
  findSessionToken(hash: Uint8Array, nowMs: number): Steps<TokenRecord | undefined> {
    const session = `sessions.hash = $1 AND ${isInForce('CAST($2 AS bigint)')}`;
    const where = `WHERE id = (SELECT token_id FROM sessions WHERE ${session})`;
    return first(tokenRecords(where, hash, nowMs));
  },

  /** Newest first. */
  *listBackups(): Steps<readonly BackupRecord[]> {
    const columns = 'file, finished_at AS "finishedAtMs", plants, digest';
    const { rows } = yield* run(`SELECT ${columns} FROM backups ORDER BY id DESC`);
    return rows.map((row) => ({ ...row }) as unknown as BackupRecord);
  },

  /** Time of the last heartbeat of a service (`beat`), in ms since the epoch, if there was any. */
  *lastBeat(): Steps<number | undefined> {
    const text = 'SELECT beaten_at FROM heartbeat ORDER BY beaten_at DESC LIMIT 1';
    return (yield* run(text)).rows[0]?.['beaten_at'] as number | undefined;
  },
};

/** Each is one transaction. Those of all nodes run one after the other. */
export const changes = {
  ...tokenChanges,
  ...identityChanges,

  /**
   * Keeps the newest `perTokenMax` sessions of the token, the new session included. Removes the
   * expired sessions of all tokens, and the sessions of tokens that are not live.
   */
  *createSession(
    { hash, tokenId, createdAtMs, expiresAtMs }: NewSession,
    perTokenMax: number,
  ): Steps<void> {
    yield* run(
      `DELETE FROM sessions WHERE NOT ${isInForce('CAST($1 AS bigint)')}
        OR token_id NOT IN (SELECT id FROM tokens WHERE ${isLive})`,
      createdAtMs,
    );
    yield* run(
      `DELETE FROM sessions WHERE token_id = $1 AND hash NOT IN (
        SELECT hash FROM sessions WHERE token_id = $1 ORDER BY expires_at DESC LIMIT $2)`,
      tokenId,
      perTokenMax - 1,
    );
    yield* run(
      'INSERT INTO sessions (hash, token_id, expires_at) VALUES ($1, $2, $3)',
      hash,
      tokenId,
      expiresAtMs,
    );
    yield* tokenChanges.recordTokenUse([{ id: tokenId, atMs: createdAtMs }]);
  },

  /** @returns false if there is no such session: of two calls at once, one removes it */
  *removeSession(hash: Uint8Array): Steps<boolean> {
    return (yield* run('DELETE FROM sessions WHERE hash = $1', hash)).changes === 1;
  },

  /** Ends all sessions of a token or a subject. */
  *removeSessionsOf(tokenId: number): Steps<void> {
    yield* run('DELETE FROM sessions WHERE token_id = $1', tokenId);
  },

  /** The newest `limits.store.backupsRecorded` records are kept. */
  *recordBackup({ file, finishedAtMs, plants, digest }: BackupRecord): Steps<void> {
    const id = yield* nextId('backups');
    yield* run(
      'INSERT INTO backups (id, file, finished_at, plants, digest) VALUES ($1, $2, $3, $4, $5)',
      id,
      file,
      finishedAtMs,
      plants,
      digest,
    );
    yield* run('DELETE FROM backups WHERE id <= $1', id - limits.store.backupsRecorded);
  },
};

export type TableReader = CallsOf<typeof reads>;
export type TableWriter = CallsOf<typeof changes>;
