import { limits } from '../../limits.ts';
import { identityChanges } from './identity.ts';
import { type CallsOf, type Statement, type Steps, sql } from './steps.ts';
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
 */
function isInForce(nowMs: number): Statement {
  const latestMs = nowMs + 2 * limits.access.sessionMs;
  return sql`(sessions.expires_at > ${nowMs} AND sessions.expires_at <= ${latestMs})`;
}

export const reads = {
  ...tokenReads,

  /** The token, revoked or not; undefined if the session does not exist or has expired. */
  findSessionToken(hash: Uint8Array, nowMs: number): Steps<TokenRecord | undefined> {
    const session = sql`sessions.hash = ${hash} AND ${isInForce(nowMs)}`;
    const id = sql`SELECT token_id FROM sessions WHERE ${session}`;
    return first(tokenRecords(sql`WHERE id = (${id})`));
  },

  /** Newest first. */
  *listBackups(): Steps<readonly BackupRecord[]> {
    const { rows } = yield sql`
      SELECT file, finished_at AS "finishedAtMs", plants, digest FROM backups ORDER BY id DESC`;
    return rows.map((row) => ({ ...row }) as unknown as BackupRecord);
  },

  /** Time of the last heartbeat of a service (`beat`), in ms since the epoch, if there was any. */
  *lastBeat(): Steps<number | undefined> {
    const last = sql`SELECT beaten_at FROM heartbeat ORDER BY beaten_at DESC LIMIT 1`;
    return (yield last).rows[0]?.['beaten_at'] as number | undefined;
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
    yield sql`DELETE FROM sessions WHERE NOT ${isInForce(createdAtMs)}
      OR token_id NOT IN (SELECT id FROM tokens WHERE ${isLive(createdAtMs)})`;
    const kept = sql`SELECT hash FROM sessions WHERE token_id = ${tokenId}
      ORDER BY expires_at DESC LIMIT ${perTokenMax - 1}`;
    yield sql`DELETE FROM sessions WHERE token_id = ${tokenId} AND hash NOT IN (${kept})`;
    yield sql`INSERT INTO sessions (hash, token_id, expires_at)
      VALUES (${hash}, ${tokenId}, ${expiresAtMs})`;
    yield* tokenChanges.recordTokenUse([{ id: tokenId, atMs: createdAtMs }]);
  },

  /** @returns false if there is no such session: of two calls at once, one removes it */
  *removeSession(hash: Uint8Array): Steps<boolean> {
    return (yield sql`DELETE FROM sessions WHERE hash = ${hash}`).changes === 1;
  },

  *removeSessionsOf(tokenId: number): Steps<void> {
    yield sql`DELETE FROM sessions WHERE token_id = ${tokenId}`;
  },

  /** The newest `limits.store.backupsRecorded` records are kept. */
  *recordBackup({ file, finishedAtMs, plants, digest }: BackupRecord): Steps<void> {
    const id = yield* nextId('backups');
    yield sql`INSERT INTO backups (id, file, finished_at, plants, digest)
      VALUES (${id}, ${file}, ${finishedAtMs}, ${plants}, ${digest})`;
    yield sql`DELETE FROM backups WHERE id <= ${id - limits.store.backupsRecorded}`;
  },
};

export type TableReader = CallsOf<typeof reads>;
export type TableWriter = CallsOf<typeof changes>;
