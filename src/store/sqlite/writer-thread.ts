import { parentPort, workerData } from 'node:worker_threads';
import { StoreOpenError } from '../store.ts';
import { openForWriting } from './database.ts';
import { storeError } from './errors.ts';
import { prepareTransactions } from './transactions.ts';
import type { Reply, Request, WriterOptions } from './writer.ts';

/*
 * The one thread that owns the write connection. It takes one request after the other and blocks while the disk syncs;
 * that is what it is for.
 */

const { path, lockMs } = workerData as WriterOptions;
const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');
const reply = (message: Reply) => port.postMessage(message);

try {
  const db = openForWriting(path);
  const transactions = prepareTransactions(db, lockMs, Date.now);
  port.on('message', (request: Request) => {
    if (request.transaction === 'close') {
      db.close();
      port.close();
      return;
    }
    try {
      // Both halves of a request come from one call of `writer.run`, which the compiler has checked.
      const run = transactions[request.transaction] as (argument: unknown) => unknown;
      reply({ done: run(request.argument) });
    } catch (error) {
      const { failure, message } = storeError(error);
      reply({ failure, message });
    }
  });
  reply({ done: 'open' });
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  reply({ failure: 'open', message: error.message });
}
