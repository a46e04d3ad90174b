import { limits } from '../limits.ts';
import type { Span } from './otlp.ts';

/** Spans since the last batch. */
export interface SpanBatch {
  /** Each as JSON. */
  readonly spans: readonly string[];
  /** Number of further spans, for which there was no room. */
  readonly dropped: number;
}

export interface SpanBuffer extends Disposable {
  /** Adds all spans of a create, or drops them all. */
  add(spans: readonly Span[]): void;
}

/** Gathers the spans of a thread, and hands a batch on every `limits.trace.gatherMs`. */
export function openSpanBuffer(hand: (batch: SpanBatch) => void): SpanBuffer {
  let texts: string[] = [];
  let dropped = 0;

  function handOn(): void {
    if (texts.length === 0) return;
    hand({ spans: texts, dropped });
    texts = [];
    dropped = 0;
  }

  const handing = setInterval(handOn, limits.trace.gatherMs);
  return {
    add(spans) {
      if (texts.length + spans.length > limits.trace.gatheredSpansMax) dropped += spans.length;
      // At once, so that no turn of the event loop has to write a whole batch.
      else for (const span of spans) texts.push(JSON.stringify(span));
    },
    [Symbol.dispose]() {
      clearInterval(handing);
      handOn();
    },
  };
}
