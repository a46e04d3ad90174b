import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { ensureFirstToken } from './access/first-token.ts';
import { openOpaqueTokens } from './access/opaque-tokens.ts';
import type { StoreLocation } from './config/values.ts';
import { openApiDocument } from './contract/openapi.ts';
import { listen } from './http/listener.ts';
import { routes } from './http/routes.ts';
import { type Log, logExchanges } from './log.ts';
import { createCommitQueue } from './store/commit-queue.ts';
import type { PlantToCreate, Store, StoreError } from './store/store.ts';
import { openStore } from './stores.ts';

/** Everything that `serve` can be told. Times in milliseconds. */
export interface ServiceConfig {
  readonly host: string;
  readonly port: number;
  readonly store: StoreLocation;
  readonly basePath: string;
  readonly fixedToken: string | undefined;
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  readonly queuePlantsMax: number;
  readonly requestMs: number;
  readonly commitMs: number;
}

export interface Service {
  /** Where plants are created, as a URL. */
  readonly plantsUrl: string;
  /** Plants in the store at the start. */
  readonly plants: number;
  /** Where the first token was written, if the store has ever had one. */
  readonly firstTokenFile: string;
  /** Resolves with the error after which the store takes nothing more; the service must then be closed. */
  readonly failed: Promise<StoreError>;
  /** Whether a token is admitted now. */
  admits(token: string): boolean;
  /** Stops accepting, answers what has been received (for at most `drainMs`), and closes the store. */
  close(drainMs: number): Promise<void>;
}

/**
 * Starts the whole service; when this resolves, it answers.
 *
 * @throws StoreOpenError, or the error of listen(2)
 */
export async function startService(config: ServiceConfig, log: Log): Promise<Service> {
  // Closed in reverse, whether the start fails half-way or the service is closed at last.
  await using starting = new AsyncDisposableStack();
  const store = starting.use(await openStore(config.store, config.commitMs));
  const firstTokenFile = join(dirname(config.store.path), 'first-start.token');
  if (config.fixedToken === undefined) await ensureFirstToken(store, firstTokenFile, Date.now());
  const plants = await store.countPlants();

  const access = starting.use(
    await openOpaqueTokens({
      store,
      fixedToken: config.fixedToken,
      now: Date.now,
      onError: (message, error) => log.error({ err: error }, message),
    }),
  );
  const exchanges = starting.use(logExchanges(log));
  const failure = Promise.withResolvers<StoreError>();
  const listener = await listen({
    ...config,
    handle: routes({
      ...config,
      access,
      queue: createCommitQueue(committing(store, log, failure.resolve), config),
      openApi: JSON.stringify(openApiDocument(config)),
    }),
    events: exchanges.events,
    requestIdPrefix: randomBytes(6).toString('hex'),
  });

  const running = starting.move();
  return {
    plantsUrl: `${listener.origin}${config.basePath}/plants`,
    plants,
    firstTokenFile,
    failed: failure.promise,
    admits: (token) => typeof access.authenticate(token) === 'object',
    async close(drainMs) {
      await listener.close(drainMs);
      await running.disposeAsync();
    },
  };
}

/** Creates plants in the store, logs what fails, and says so when the store takes nothing more. */
function committing(store: Store, log: Log, onFatal: (error: StoreError) => void) {
  return (plants: readonly PlantToCreate[]) =>
    store.createPlants(plants).catch((error: StoreError) => {
      log.error({ err: error, plants: plants.length }, 'a transaction has failed');
      if (error.failure === 'fatal') onFatal(error);
      throw error;
    });
}
