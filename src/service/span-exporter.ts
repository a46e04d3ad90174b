import { randomUUID } from 'node:crypto';
import { limits } from '../limits.ts';
import { exportRequest } from '../trace/otlp.ts';
import type { SpanBatch } from '../trace/span-buffer.ts';
import { type Export, type ExportBounds, sendSpans } from './collector.ts';
import type { Log } from './log.ts';

/** Sends the spans of all threads to a collector. Disposing of it sends what is left. */
export interface SpanExporter extends AsyncDisposable {
  /** Beyond `limits.trace.queuedSpansMax`, spans are dropped. */
  take(batch: SpanBatch): void;
  counts(): SpanCounts;
}

/** Spans since the start. */
export interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
}

/**
 * One request is under way at a time. After a passing failure, the spans of the request stay in the
 * queue.
 *
 * @param url with its path
 * @param log gets the first of several failures in a row, and the first success after them
 */
export function openSpanExporter(
  url: string,
  log: Pick<Log, 'info' | 'warn'>,
  bounds: ExportBounds = limits.trace,
): SpanExporter {
  const instance = randomUUID();
  const closing = new AbortController();
  const report = reportOutages(url, log);
  let queue: string[] = [];
  let exported = 0;
  let dropped = 0;
  let sending: Promise<void> | undefined;
  let pause: NodeJS.Timeout | undefined;

  function sendSoon(): void {
    if (sending === undefined && pause === undefined)
      sending = sendAll().finally(() => {
        sending = undefined;
      });
  }

  async function sendAll(): Promise<void> {
    while (queue.length > 0 && pause === undefined) await sendNext();
  }

  async function sendNext(): Promise<void> {
    const count = countThatFit(queue, bounds);
    const body = exportRequest(queue.slice(0, count), instance);
    const result = await sendSpans(url, body, bounds, closing.signal);
    report(result);
    if (result.outcome === 'later') return waitFor(result.waitMs);
    queue = queue.slice(count);
    const refused = result.outcome === 'taken' ? Math.min(result.refused, count) : count;
    dropped += refused;
    exported += count - refused;
  }

  function waitFor(waitMs: number): void {
    pause = setTimeout(() => {
      pause = undefined;
      sendSoon();
    }, waitMs);
  }

  return {
    take(batch) {
      const room = bounds.queuedSpansMax - queue.length;
      const { spans } = batch;
      queue = queue.concat(spans.slice(0, room));
      dropped += batch.dropped + Math.max(0, spans.length - room);
      sendSoon();
    },
    counts: () => ({ exported, dropped }),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => closing.abort(), bounds.closeMs);
      await sending;
      clearTimeout(pause);
      pause = undefined;
      await sendAll();
      clearTimeout(pause);
      clearTimeout(timer);
      if (queue.length > 0) log.warn({ url, dropped: queue.length }, 'the last spans are lost');
    },
  };
}

/** Spans at the start of the queue that fit into a request. */
function countThatFit(queue: readonly string[], bounds: ExportBounds): number {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(queue.length, bounds.requestSpansMax)) {
    bytes += Buffer.byteLength(queue[count] ?? '');
    if (count > 0 && bytes > bounds.requestBytesMax) break;
    count += 1;
  }
  return count;
}

function reportOutages(url: string, log: Pick<Log, 'info' | 'warn'>): (result: Export) => void {
  let isFailing = false;
  return (result) => {
    const isTaken = result.outcome === 'taken' && result.refused === 0;
    if (isTaken && isFailing) log.info({ url }, 'spans can be exported again');
    if (!isTaken && !isFailing)
      log.warn({ url, reason: result.reason }, 'spans cannot be exported; some may be dropped');
    isFailing = !isTaken;
  };
}
