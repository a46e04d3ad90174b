import { limits } from '../../limits.ts';
import {
  type Counts,
  type HistoryMinute,
  type HistoryReader,
  senderOf,
} from '../../store/history.ts';
import type { Handler } from '../answer.ts';
import type { History, Minute } from '../contract.ts';
import { answerJson, refuse } from './json.ts';

const { keptMs, lateMs, minuteMs } = limits.history;

/** The last 24 hours, or their minutes after `after`. */
export function showHistory(
  store: HistoryReader,
  begun: () => HistoryMinute,
  now: () => number,
): Handler {
  return async ({ query }) => {
    const after = query['after'] ?? '0';
    if (!/^\d{1,15}$/.test(after))
      return refuse('queryWrong', '`after` must be a time in milliseconds.');
    const nowMs = now();
    const kept = await store.listHistory(Math.max(Number(after), nowMs - keptMs));
    // A clock that was wrong may have made later minutes.
    const minutes = kept.filter(({ atMs }) => atMs <= nowMs).map(minuteReply);
    const own = begun();
    const runs = await store.listUnstoppedRuns(nowMs - keptMs);
    const crashes = runs.filter(
      ({ startedAtMs, lastMs }) => lastMs < nowMs - lateMs && startedAtMs !== own.startedAtMs,
    );
    return answerJson({ minutes, begun: minuteReply(own), crashes } satisfies History);
  };
}

function minuteReply(minute: HistoryMinute): Minute {
  const ms = (us: number | undefined) => (us === undefined ? null : us / 1_000);
  const { atMs, startedAtMs, p50Us, p99Us } = minute;
  const { created, same, taken, failed, refused, refusals } = minute;
  const { queuePlants, connections } = minute;
  return {
    atMs,
    hasStart: startedAtMs >= atMs && startedAtMs < atMs + minuteMs,
    ...{ created, same, taken, failed, refused, refusals },
    ...sendersReply(minute.refusedSenders),
    p50Ms: ms(p50Us),
    p99Ms: ms(p99Us),
    ...{ queuePlants, connections },
  };
}

function sendersReply(
  counts: Counts,
): Pick<Minute, 'refusedSenders' | 'senderRefusals' | 'anonymousRefusals'> {
  const all = Object.entries(counts).map(([key, count]) => ({ ...senderOf(key), count }));
  const { '': anonymous = [], ...bySender } = Object.groupBy(all, ({ name }) => name);
  const byCode = (of: typeof all = []) =>
    Object.fromEntries(
      of.flatMap(({ code, count }) => (code === undefined ? [] : [[code, count]])),
    );
  const reply = <Value>(make: (of: typeof all | undefined) => Value) =>
    Object.fromEntries(Object.entries(bySender).map(([name, of]) => [name, make(of)]));
  return {
    refusedSenders: reply((of = []) => of.reduce((sum, { count }) => sum + count, 0)),
    senderRefusals: reply(byCode),
    anonymousRefusals: byCode(anonymous),
  };
}
