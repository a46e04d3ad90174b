import { limits } from '../../limits.ts';
import type { NodeMinute } from '../history.ts';
import type { TransactionBase } from './transaction-base.ts';

export function historyTransactions({ prepare, transact }: TransactionBase) {
  const { keptMs, nodesMax } = limits.history;
  // A clock that was wrong may have made later minutes.
  const forget = prepare('DELETE FROM history WHERE abs(minute_at - ?) > ?');
  const insert = prepare(
    `INSERT INTO history (minute_at, node, started_at, created, same, taken, failed, refused,
       refusals, refused_senders, p50_us, p99_us, queue_plants, connections, stopped_at)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15
     WHERE (SELECT count(*) FROM history WHERE minute_at = ?1) < ${nodesMax}
     ON CONFLICT DO UPDATE SET stopped_at = excluded.stopped_at`,
  );
  return {
    recordMinute(minute: NodeMinute): void {
      const { atMs, node, startedAtMs, created, same, taken, failed, refused } = minute;
      const { refusals, refusedSenders, p50Us = null, p99Us = null } = minute;
      const { queuePlants, connections, stoppedAtMs } = minute;
      transact(() => {
        forget.run(atMs, keptMs);
        insert.run(
          ...[atMs, node, startedAtMs, created, same, taken, failed, refused],
          ...[JSON.stringify(refusals), JSON.stringify(refusedSenders)],
          ...[p50Us, p99Us, queuePlants, connections, stoppedAtMs],
        );
      });
    },
  };
}
