import { once } from 'node:events';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import { ensureFirstToken, isTokenAdmitted } from './access/first-token.ts';
import type { StoreLocation } from './config/values.ts';
import { limits } from './limits.ts';
import type { LogOptions } from './log.ts';
import { sharedCount } from './shared-counter.ts';
import { openStore } from './stores.ts';

/** Everything that `serve` can be told. Times in milliseconds. */
export interface ServiceConfig {
  readonly host: string;
  readonly port: number;
  readonly httpThreads: number | 'auto';
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
  /** Resolves with the reason why the service cannot go on; it must then be closed. */
  readonly failed: Promise<string>;
  /** Whether a token in the store is admitted now. */
  admits(token: string): Promise<boolean>;
  /**
   * Stops accepting, answers what has been received (for at most `drainMs`), and closes the store.
   *
   * @param onDraining called as soon as nothing more is accepted
   */
  close(drainMs: number, onDraining: () => void): Promise<void>;
}

/**
 * Starts the whole service; when this resolves, it answers. The calling thread only looks after the others: the one
 * that writes, and those that answer requests.
 *
 * @throws StoreOpenError, or the error of listen(2)
 */
export async function startService(config: ServiceConfig, log: LogOptions): Promise<Service> {
  await using starting = new AsyncDisposableStack();
  const store = starting.use(await openStore(config.store, config.commitMs));
  const firstTokenFile = join(dirname(config.store.path), 'first-start.token');
  if (config.fixedToken === undefined) await ensureFirstToken(store, firstTokenFile, Date.now());
  const plants = await store.countPlants();

  const held = { connections: sharedCount(), plants: sharedCount(), bytes: sharedCount() };
  const port = await freePort(config.host, config.port);
  const count = httpThreads(config.httpThreads);
  const starts = Array.from({ length: count }, () => startHttpThread({ config: { ...config, port }, log, held, store: store.share() }));
  const threads = await Promise.all(starts);

  const running = starting.move();
  return {
    plantsUrl: `${threads[0]?.origin}${config.basePath}/plants`,
    plants,
    firstTokenFile,
    failed: Promise.race(threads.map((thread) => thread.failed)),
    admits: (token) => isTokenAdmitted(store, token, Date.now()),
    async close(drainMs, onDraining) {
      await Promise.all(threads.map((thread) => thread.drain(drainMs)));
      onDraining();
      await Promise.all(threads.map((thread) => thread.exit));
      await running.disposeAsync();
    },
  };
}

/** What a thread that answers requests is started with. */
export interface HttpThreadOptions {
  readonly config: ServiceConfig;
  readonly log: LogOptions;
  /** From `SharedStore.share`. */
  readonly store: MessagePort;
  /** What all threads hold together. */
  readonly held: { readonly connections: SharedArrayBuffer; readonly plants: SharedArrayBuffer; readonly bytes: SharedArrayBuffer };
}

/** What the thread says: that it listens, that the store takes nothing more, that it has begun to drain. */
export type HttpThreadReport = { origin: string } | { storeFailed: string } | 'draining';
/** What it is told. */
export interface HttpThreadOrder {
  readonly drainMs: number;
}

interface HttpThread {
  readonly origin: string;
  readonly failed: Promise<string>;
  /** Resolves when it accepts nothing more; it exits by itself when everything has been answered. */
  drain(drainMs: number): Promise<void>;
  readonly exit: Promise<unknown>;
}

/**
 * The young generation must hold what is alive between receiving a request and answering it. Larger is not better: with
 * V8's own limit a create costs 5 % more CPU time, because less of it stays in the cache, and the process 40 MB more.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24 };

async function startHttpThread(options: HttpThreadOptions): Promise<HttpThread> {
  const thread = new Worker(new URL('./http-thread.ts', import.meta.url), {
    workerData: options,
    transferList: [options.store],
    resourceLimits,
  });
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  const [started] = (await once(thread, 'message')) as [Extract<HttpThreadReport, { origin: string }>];
  const failure = Promise.withResolvers<string>();
  const draining = Promise.withResolvers<void>();
  thread.on('message', (message: HttpThreadReport) => {
    if (message === 'draining') draining.resolve();
    else if ('storeFailed' in message) failure.resolve(message.storeFailed);
  });
  thread.on('error', (error: Error) => failure.resolve(`an HTTP thread has failed: ${error.stack}`));
  return {
    origin: started.origin,
    failed: failure.promise,
    async drain(drainMs) {
      thread.postMessage({ drainMs } satisfies HttpThreadOrder);
      await Promise.race([draining.promise, exit]);
    },
    exit,
  };
}

/** Several threads on one port need a kernel that deals connections out among them; as far as Node goes, that is Linux. */
function httpThreads(wanted: number | 'auto'): number {
  if (process.platform !== 'linux') return 1;
  return wanted === 'auto' ? Math.min(availableParallelism(), limits.httpThreadsAuto) : wanted;
}

/**
 * Finds out whether the port can be had, and which one 0 stands for. The threads share the port, so to them it would not
 * matter that another program has it that shares it, too.
 */
async function freePort(host: string, port: number): Promise<number> {
  const probe = createServer().listen(port, host);
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}
