import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreLocation } from './config/values.ts';
import { createHealth } from './ops/health.ts';
import { startHeartbeat } from './ops/heartbeat.ts';
import { listenForOperators } from './ops/listener.ts';
import { operatorRoutes } from './ops/routes.ts';
import type { SharedCounter } from './shared-counter.ts';
import type { Store } from './store/store.ts';

/** Where operators are answered, and what they are told of. */
export interface OperatorConfig {
  readonly opsHost: string;
  readonly opsPort: number | 'off';
  /** Host names that they may use, besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  /** Whether another service of the same user may have the port, too. */
  readonly reusePort: boolean;
  readonly store: StoreLocation;
  readonly queuePlantsMax: number;
}

export interface OperatorOptions {
  readonly config: OperatorConfig;
  readonly store: Store;
  readonly held: { readonly queuedPlants: SharedCounter };
}

/** The operators' side of a running service. Disposing of it closes its listener. */
export interface Operator extends AsyncDisposable {
  /** Undefined if it is off. */
  readonly url: string | undefined;
  /** From now on the service is not ready. */
  noteStopping(): void;
}

/** The port for operators cannot be opened. The cause is the error of listen(2). */
export class OperatorPortError extends Error {
  override readonly name = 'OperatorPortError';
}

/** Wires what operators see. @throws OperatorPortError */
export async function openOperator({ config, store, held }: OperatorOptions): Promise<Operator> {
  const { opsHost, opsPort } = config;
  if (opsPort === 'off') return { url: undefined, noteStopping() {}, async [Symbol.asyncDispose]() {} };

  await using starting = new AsyncDisposableStack();
  let isStopping = false;
  const heartbeat = starting.use(startHeartbeat(() => store.beat(Date.now())));
  const health = createHealth({
    heartbeatAgeMs: heartbeat.ageMs,
    freeBytes: () => freeBytes(dirname(config.store.path)),
    queuePlants: held.queuedPlants.count,
    queuePlantsMax: config.queuePlantsMax,
    isStopping: () => isStopping,
  });
  const listener = await listenForOperators({ ...config, opsHost, opsPort }, operatorRoutes({ health })).catch((cause) => {
    throw new OperatorPortError('the port for operators cannot be opened', { cause });
  });
  starting.defer(listener.close);
  const running = starting.move();
  return {
    url: `${listener.origin}/`,
    noteStopping: () => {
      isStopping = true;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
