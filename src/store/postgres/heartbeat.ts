import { limits } from '../../limits.ts';
import type { Query } from './transaction.ts';

/** A row for each node: no node waits. `forgetOldBeats` removes rows of stopped nodes. */
export async function beat(query: Query, node: bigint, atMs: number): Promise<void> {
  await query(
    `INSERT INTO heartbeat (node, beaten_at) VALUES ($1, $2) ON CONFLICT (node) DO UPDATE
      SET beaten_at = excluded.beaten_at`,
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
