import { Query as PgQuery } from 'pg';
import type { Connection } from './connection.ts';
import { send } from './transaction.ts';

/** The columns of a row. */
export type Columns = readonly (string | null)[];

/**
 * The rows of a query, about `pageBytes` at a time, in the transaction under way. The server goes
 * on while a page is used, by one page.
 *
 * COPY sends one message a row (protocol-flow.html#PROTOCOL-COPY), which `pg` passes on as it is.
 * With pages of a SELECT, the two sides wait for each other, and a plant takes half again of the CPU.
 *
 * @param wait waits for a page, with a deadline
 */
export async function* copyOut<Row>(
  connection: Connection,
  select: string,
  rowOf: (columns: Columns) => Row,
  pageBytes: number,
  wait: (page: () => Promise<void>) => Promise<void>,
): AsyncGenerator<Row[]> {
  const { client } = connection;
  const { stream } = client.connection;
  let rows: Row[] = [];
  let bytes = 0;
  let isLast = false;
  let ready = readiness();
  const query = new PgQuery({ text: '' }, (error) => {
    isLast = true;
    if (error) ready.reject(error);
    else ready.resolve();
  });
  const takeRow = ({ chunk }: { chunk: Buffer }) => {
    rows.push(
      rowOf(
        chunk
          .toString('utf8', 0, chunk.length - 1)
          .split('\t')
          .map(plain),
      ),
    );
    bytes += chunk.length;
    if (bytes < pageBytes) return;
    stream.pause();
    ready.resolve();
  };
  Object.assign(query, { handleCopyData: takeRow });
  query.submit = (protocol) =>
    send(protocol, [{ text: `COPY (${select}) TO STDOUT`, isSilent: true }]);
  client.query(query);
  try {
    for (;;) {
      await wait(() => ready.promise);
      const [page, isEnd] = [rows, isLast];
      [rows, bytes] = [[], 0];
      if (!isEnd) {
        ready = readiness();
        stream.resume();
      }
      if (page.length > 0) yield page;
      if (isEnd) return;
    }
  } finally {
    if (!isLast) connection.giveUp();
  }
}

/** It may be rejected before it is waited for. */
function readiness(): PromiseWithResolvers<void> {
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined);
  return ready;
}

/** See sql-copy.html, "Text Format". */
function plain(column: string): string | null {
  if (!column.includes('\\')) return column;
  if (column === '\\N') return null;
  return column.replace(
    /\\(.)/g,
    (_, letter) => '\b\f\n\r\t\v'['bfnrtv'.indexOf(letter)] ?? letter,
  );
}
