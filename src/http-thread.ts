import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { openOpaqueTokens } from './access/opaque-tokens.ts';
import { openApiDocument } from './contract/openapi.ts';
import { listen } from './http/listener.ts';
import { routes } from './http/routes.ts';
import { type Log, logExchanges, openLog } from './log.ts';
import type { HttpThreadOptions, HttpThreadOrder, HttpThreadReport } from './service.ts';
import { sharedCounter } from './shared-counter.ts';
import { createCommitQueue } from './store/commit-queue.ts';
import type { PlantToCreate, Store, StoreError } from './store/store.ts';
import { joinStore } from './stores.ts';

/*
 * One of the threads that answer requests. Each listens on the same port, and the kernel deals the connections out
 * (SO_REUSEPORT). Each parses, authorizes and gathers its own batches; they share the writer and the bounds.
 */

const options = workerData as HttpThreadOptions;
const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const report = (message: HttpThreadReport) => owner.postMessage(message);

const close = await serve(options, await openLog(options.log));
owner.once('message', async ({ drainMs }: HttpThreadOrder) => {
  const closed = close(drainMs);
  report('draining');
  await closed;
});

async function serve({ config, store: share, held }: HttpThreadOptions, log: Log): Promise<(drainMs: number) => Promise<void>> {
  // Closed in reverse, whether the start fails half-way or the thread is closed at last.
  await using starting = new AsyncDisposableStack();
  const store = starting.use(joinStore(config.store, share));
  const access = starting.use(
    await openOpaqueTokens({
      store,
      fixedToken: config.fixedToken,
      now: Date.now,
      onError: (message, error) => log.error({ err: error }, message),
    }),
  );
  const exchanges = starting.use(logExchanges(log));
  const queue = createCommitQueue(committing(store, log), config, { plants: sharedCounter(held.plants), bytes: sharedCounter(held.bytes) });
  const listener = await listen({
    ...config,
    connections: sharedCounter(held.connections),
    handle: routes({ ...config, access, queue, openApi: JSON.stringify(openApiDocument(config)) }),
    events: exchanges.events,
    requestIdPrefix: randomBytes(6).toString('hex'),
  });
  report({ origin: listener.origin });

  const running = starting.move();
  return async (drainMs) => {
    await listener.close(drainMs);
    await running.disposeAsync();
  };
}

/** Creates plants in the store, logs what fails, and says so when the store takes nothing more. */
function committing(store: Store, log: Log) {
  return (plants: readonly PlantToCreate[]) =>
    store.createPlants(plants).catch((error: StoreError) => {
      log.error({ err: error, plants: plants.length }, 'a transaction has failed');
      if (error.failure === 'fatal') report({ storeFailed: error.message });
      throw error;
    });
}
