import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { openOpaqueTokens } from './access/opaque-tokens.ts';
import { openApiDocument } from './contract/openapi.ts';
import { listen } from './http/listener.ts';
import { routes } from './http/routes.ts';
import { createThrottle } from './http/throttle.ts';
import { type Log, type LogEvents, logEvents, openLog } from './log.ts';
import type { HttpThreadOptions, HttpThreadOrder, HttpThreadReport } from './service.ts';
import { sharedCounters } from './shared-counter.ts';
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

const { stopAccepting, close } = await serve(options, await openLog(options.log));
owner.on('message', async (order: HttpThreadOrder) => {
  if (order === 'stop accepting') {
    stopAccepting();
    return report('accepts nothing');
  }
  await close(order.drainMs);
  owner.close();
});

async function serve({ config, store: share, held: memory }: HttpThreadOptions, log: Log) {
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
  const events = starting.use(logEvents(log));
  const held = sharedCounters(memory);
  const queue = createCommitQueue(committing(store, events), config, held);
  const listener = await listen({
    ...config,
    held,
    handle: routes({ ...config, access, queue, throttle: createThrottle(), openApi: JSON.stringify(openApiDocument(config)) }),
    events,
    requestIdPrefix: randomBytes(6).toString('hex'),
  });
  report({ origin: listener.origin });

  const running = starting.move();
  return {
    stopAccepting: listener.stopAccepting,
    async close(drainMs: number): Promise<void> {
      await listener.close(drainMs);
      await running.disposeAsync();
    },
  };
}

/** Creates plants in the store, and logs what fails. */
function committing(store: Store, events: LogEvents) {
  return (plants: readonly PlantToCreate[]) =>
    store.createPlants(plants).catch((error: StoreError) => {
      events.transactionFailed(error, plants.length);
      throw error;
    });
}
