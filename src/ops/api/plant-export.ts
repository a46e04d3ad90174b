import { limits } from '../../limits.ts';
import type { FormatName } from '../../transfer/formats.ts';
import type { Handler, OperatorRequest } from '../answer.ts';
import { type FileForm, headOf, type OrderedSearch } from '../plant-file.ts';
import type { ReaderThread } from '../reader.ts';
import { refuse } from './json.ts';
import { flagFrom, orderedSearch } from './plant-query.ts';
import type { OperatorLog, SessionRequest } from './session.ts';

const mediaTypes: Readonly<Record<FormatName, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
};

interface ExportSources {
  readonly reader: ReaderThread;
  readonly log: OperatorLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Streams all plants that match, as a file. Each step of the search waits behind the reads of other
 * operators.
 *
 * @param isSignedIn an export ends with the session that has begun it
 */
export function exportPlants(
  { reader, log, now }: ExportSources,
  isSignedIn: (request: OperatorRequest) => Promise<boolean>,
): Handler<SessionRequest> {
  const { exportsMax, exportStepPlants, exportStepMs, exportSessionMs } = limits.ops;
  let underWay = 0;

  async function* partsOf(
    request: OperatorRequest,
    form: FileForm,
    search: OrderedSearch,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    underWay += 1;
    try {
      const read = (from: OrderedSearch) =>
        reader.readPatiently('writePlants', [form, from], signal);
      const first = await read(search);
      yield Buffer.concat([Buffer.from(headOf(form)), first.bytes]);
      let checkedMs = performance.now();
      for (let { rest } = first; rest !== undefined; ) {
        if (performance.now() - checkedMs > exportSessionMs) {
          if (!(await isSignedIn(request))) throw new Error('the session of an export has ended');
          checkedMs = performance.now();
        }
        const part = await read(rest);
        if (part.bytes.length > 0) yield part.bytes;
        rest = part.rest;
      }
    } finally {
      underWay -= 1;
    }
  }

  return async (request) => {
    const { query, operator } = request;
    const format = query['format'] || 'ndjson';
    if (format !== 'ndjson' && format !== 'csv')
      return refuse('queryWrong', '`format` must be ndjson or csv.');
    const details = flagFrom(query, 'details');
    if (typeof details === 'string') return refuse('queryWrong', details);
    // A file has all plants that match, so it begins at no position.
    const search = orderedSearch(
      { ...query, after: '', before: '' },
      { limit: exportStepPlants, budgetMs: exportStepMs },
    );
    if (typeof search === 'string') return refuse('queryWrong', search);
    if (underWay >= exportsMax) {
      const message = `${exportsMax} exports are under way. Retry when one of them has ended.`;
      return refuse('exportsTooMany', message);
    }
    log.info({ operator, format }, 'exporting plants');
    const leaving = new AbortController();
    const signal = AbortSignal.any([request.signal, leaving.signal]);
    const form: FileForm = { format, details };
    const parts = partsOf(request, form, search, signal);
    // A store that cannot be read gets a refusal, and not a file that breaks off.
    const first = await parts.next();
    return {
      status: 200,
      headers: {
        'Content-Type': mediaTypes[format],
        'Content-Disposition': `attachment; filename="${fileName(format, now())}"`,
      },
      body: streamOf(first, parts, () => leaving.abort()),
    };
  };
}

/** Reads a part when one is asked for, and no sooner. */
function streamOf(
  first: IteratorResult<Uint8Array>,
  parts: AsyncGenerator<Uint8Array>,
  leave: () => void,
): ReadableStream<Uint8Array> {
  let read: IteratorResult<Uint8Array> | undefined = first;
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      const { done, value } = read ?? (await parts.next());
      read = undefined;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      leave();
      await parts.return(undefined);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/** Such as `plants-2026-11-22T071449Z.csv`: not every file system allows a colon. */
function fileName(format: FormatName, nowMs: number): string {
  const seconds = new Date(nowMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
  return `plants-${seconds.replaceAll(':', '')}Z.${format}`;
}
