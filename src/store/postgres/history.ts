import { limits } from '../../limits.ts';
import { countsIn, type HistoryMinute, type NodeMinute, type UnstoppedRun } from '../history.ts';
import type { Query } from './transaction.ts';

export async function listHistory(query: Query, afterMs: number): Promise<HistoryMinute[]> {
  const { rows } = await query(
    `SELECT minute_at, max(started_at), sum(created), sum(same), sum(taken), sum(failed),
       sum(refused), string_agg(refusals, ','), string_agg(refused_senders, ','), max(p50_us), max(p99_us),
       max(queue_plants), sum(connections)
     FROM history WHERE minute_at > $1 GROUP BY minute_at ORDER BY minute_at`,
    [afterMs],
  );
  return rows.map((row) => {
    const [at, started, created, same, taken, failed, refused, ...more] = row;
    const [refusals, senders, p50, p99, queue, connections] = more;
    return {
      atMs: Number(at),
      startedAtMs: Number(started),
      created: Number(created),
      same: Number(same),
      taken: Number(taken),
      failed: Number(failed),
      refused: Number(refused),
      refusals: countsIn(refusals),
      refusedSenders: countsIn(senders),
      p50Us: p50 === null ? undefined : Number(p50),
      p99Us: p99 === null ? undefined : Number(p99),
      queuePlants: Number(queue),
      connections: Number(connections),
    };
  });
}

export async function listUnstoppedRuns(query: Query, afterMs: number): Promise<UnstoppedRun[]> {
  const { rows } = await query(
    `SELECT max(started_at), max(minute_at) FROM history WHERE minute_at > $1
     GROUP BY node HAVING max(stopped_at) = 0 ORDER BY max(minute_at)`,
    [afterMs],
  );
  return rows.map(([started, last]) => ({ startedAtMs: Number(started), lastMs: Number(last) }));
}

export async function recordMinute(query: Query, minute: NodeMinute): Promise<void> {
  const { atMs, node, startedAtMs, created, same, taken, failed, refused } = minute;
  const { refusals, refusedSenders, p50Us, p99Us, queuePlants, connections, stoppedAtMs } = minute;
  const { keptMs, nodesMax } = limits.history;
  // A clock that was wrong may have made later minutes.
  await query('DELETE FROM history WHERE minute_at < $1 OR minute_at > $2', [
    atMs - keptMs,
    atMs + keptMs,
  ]);
  await query(
    `INSERT INTO history (minute_at, node, started_at, created, same, taken, failed, refused,
       refusals, refused_senders, p50_us, p99_us, queue_plants, connections, stopped_at)
     SELECT $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint,
       $8::bigint, $9::text, $10::text, $11::bigint, $12::bigint, $13::bigint,
       $14::bigint, $15::bigint
     WHERE (SELECT count(*) FROM history WHERE minute_at = $1::bigint) < $16::bigint
     ON CONFLICT (minute_at, node) DO UPDATE SET stopped_at = excluded.stopped_at`,
    [
      ...[atMs, node, startedAtMs, created, same, taken, failed, refused],
      ...[JSON.stringify(refusals), JSON.stringify(refusedSenders)],
      ...[p50Us, p99Us, queuePlants, connections, stoppedAtMs, nodesMax],
    ],
  );
}
