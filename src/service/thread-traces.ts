import { engineOf } from '../stores.ts';
import { type TraceCreate, traceCreates } from '../trace/create-span.ts';
import { openSpanBuffer, type SpanBatch } from '../trace/span-buffer.ts';
import type { HttpThreadOptions } from './http-thread-control.ts';

/** Traces of creates on an HTTP thread. The main thread exports their spans. */
export function openThreadTraces(
  { store, basePath, tls }: HttpThreadOptions['config'],
  hand: (batch: SpanBatch) => void,
): Disposable & { readonly traceCreate: TraceCreate } {
  const buffer = openSpanBuffer(hand);
  const traceCreate = traceCreates({
    buffer,
    path: `${basePath}/plants`,
    scheme: tls ? 'https' : 'http',
    dbSystem: engineOf(store).dbSystem,
  });
  return { traceCreate, [Symbol.dispose]: () => buffer[Symbol.dispose]() };
}
