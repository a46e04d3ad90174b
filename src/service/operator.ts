import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { sessionsIn } from '../access/sessions.ts';
import type { Setting } from '../config/command-line.ts';
import { problems } from '../contract/problems.ts';
import { fileSystemOfLater, isSpaceLow } from '../disk/file-system.ts';
import { limits } from '../limits.ts';
import { bestEffort } from '../ops/best-effort.ts';
import { createHealth, type Space } from '../ops/health/health.ts';
import { startHeartbeat } from '../ops/health/heartbeat.ts';
import { probes } from '../ops/health/probes.ts';
import { listenForOperators } from '../ops/listener.ts';
import { type FigureSources, gatherFigures } from '../ops/metrics/figures.ts';
import { plantCount } from '../ops/metrics/plant-count.ts';
import { createsOf, startSamples } from '../ops/metrics/samples.ts';
import { openReaderThread } from '../ops/reader.ts';
import { startThread } from '../program.ts';
import type { StoreLocation } from '../store/location.ts';
import type { SharedStore } from '../store/store.ts';
import { storeLog } from '../stores.ts';
import { watchEventLoop } from '../threads/event-loop.ts';
import type { httpThreadLayout, Measures } from '../threads/measures.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { version } from '../version.ts';
import type { Log } from './log.ts';

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
  /** What is shown to them of the whole configuration. */
  readonly settings: readonly Setting[];
}

export interface OperatorOptions {
  readonly config: OperatorConfig & {
    readonly connectionsMax: number;
    readonly opsConnectionsMax: number;
  };
  readonly store: SharedStore;
  readonly log: Log;
  /** What all threads that answer clients hold together. */
  readonly counters: Readonly<
    Record<'connections' | 'queuedPlants' | 'queuedBytes', SharedCounter>
  >;
  /** What each of them measures. */
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
}

/** The operators' side of a running service. Disposing of it closes its listener. */
export interface Operator extends AsyncDisposable {
  /** Undefined if it is off. */
  readonly url: string | undefined;
  /** From now on the service is not ready. */
  noteStopping(): void;
}

/** Wires what operators see. @throws the error of listen(2) */
export async function openOperator({
  config,
  store,
  log,
  counters,
  httpThreads,
}: OperatorOptions): Promise<Operator> {
  const { opsHost, opsPort, queuePlantsMax, connectionsMax } = config;
  if (opsPort === 'off')
    return { url: undefined, noteStopping() {}, async [Symbol.asyncDispose]() {} };

  await using starting = new AsyncDisposableStack();
  let isStopping = false;
  let mainLagSeconds = 0;
  starting.use(
    watchEventLoop((seconds) => {
      mainLagSeconds = seconds;
    }),
  );
  const heartbeat = starting.use(startHeartbeat(() => store.beat(Date.now())));
  const [queuePlants, connections] = [counters.queuedPlants.count, counters.connections.count];
  const measured = { httpThreads, writers: store.metrics.writers };
  const samples = starting.use(startSamples({ ...measured, queuePlants, connections }));
  const space = spaceFor(config.store);
  const sizes = async () => {
    const [plantsBytes, left] = await Promise.all([
      bestEffort(store.metrics.plantsBytes()),
      space && bestEffort(space()),
    ]);
    const logBytes =
      config.store.engine === 'sqlite' ? (storeLog(config.store)?.size ?? 0) : undefined;
    return { plantsBytes, logBytes, freeBytes: left?.freeBytes, isSpaceLow: left?.isLow };
  };
  const health = createHealth({
    heartbeat,
    recentCreates: samples.recentCreates,
    space,
    queuePlants,
    queuePlantsMax,
    isStopping: () => isStopping,
  });
  const reader = starting.use(
    openReaderThread(
      () => startReaderThread(config.store),
      (err) =>
        log.error(
          { err },
          'the thread that reads the store has failed; the next read starts another',
        ),
    ),
  );
  const lastCount = plantCount(reader, () => createsOf(httpThreads, 'created'), Date.now);
  const sources: FigureSources = {
    ...{ ...measured, store, sizes, health, lastCount, queuePlantsMax, connectionsMax },
    current: () => ({
      queuePlants: queuePlants(),
      queueBytes: counters.queuedBytes.count(),
      connections: connections(),
      mainLagSeconds,
      heartbeatAgeMs: heartbeat.ageMs(),
    }),
  };
  const listener = await listenForOperators({
    ...{ ...config, opsHost, opsPort },
    events: {
      refused: ({ problem, message }, requestId) =>
        log.debug(
          { requestId, code: problems[problem].code, reason: message },
          'an operator was refused',
        ),
      failed: (err, requestId) =>
        log.error({ requestId, err }, 'an operator could not be answered'),
    },
    probes: probes(health, () => gatherFigures(sources)),
    async loadConsole() {
      // Most services are only probed: what the console needs takes 20 MB.
      const { openConsole } = await import('../ops/routes.ts');
      const shown = {
        version,
        startedAtMs: performance.timeOrigin,
        health,
        sizes,
        lastCount,
        settings: config.settings,
      };
      const { location, lastBackup, promise } = store;
      const sessions = sessionsIn(store, Date.now);
      return openConsole({
        ...shown,
        location,
        lastBackup,
        promise,
        store,
        sessions,
        reader,
        samples,
        log,
        now: Date.now,
      });
    },
  });
  // What they keep open without a request is closed at once, and nothing that they ask for takes
  // long.
  starting.defer(() => listener.close(limits.service.opsCloseMs, 0));
  const running = starting.move();
  return {
    url: `${listener.origin}/`,
    noteStopping: () => {
      isStopping = true;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** It holds a page of plants, and is to cost the process little. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

function startReaderThread(location: StoreLocation): Worker {
  return startThread('reader-thread', {
    workerData: location,
    resourceLimits,
  });
}

/** Undefined for a store that is not on a disk of this machine. */
function spaceFor(location: StoreLocation): (() => Promise<Space | undefined>) | undefined {
  if (location.engine === 'postgres') return undefined;
  return async () => {
    const { bytes, freeBytes } = await fileSystemOfLater(dirname(location.path));
    return bytes === 0 ? undefined : { freeBytes, isLow: isSpaceLow({ bytes, freeBytes }) };
  };
}
