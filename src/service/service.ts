import { once } from 'node:events';
import { createServer } from 'node:net';
import { ensureFirstToken, isTokenAdmitted } from '../access/first-token.ts';
import { startThread } from '../program.ts';
import { firstTokenFile } from '../store/location.ts';
import type { CommitPromise, StoreShare } from '../store/store.ts';
import { openStore } from '../stores.ts';
import { httpThreadLayout, measuresIn, measuresMemory } from '../threads/measures.ts';
import { sharedCounters, sharedMemory } from '../threads/shared-counter.ts';
import { withinDescriptors } from './descriptors.ts';
import { type LogOptions, openLog } from './log.ts';
import type { OperatorConfig } from './operator.ts';

/** Everything that `serve` can be told. Times in milliseconds. */
export interface ServiceConfig extends OperatorConfig {
  readonly host: string;
  readonly port: number;
  readonly httpThreads: number | 'auto';
  readonly basePath: string;
  readonly fixedToken: string | undefined;
  readonly bodyBytesMax: number;
  /**
   * `auto` is as many as the descriptors of the process allow, and not more than
   * `limits.service.connectionsMax`.
   */
  readonly connectionsMax: number | 'auto';
  readonly requestMs: number;
  readonly commitMs: number;
  /** Whether a database will do that may lose what it has committed. */
  readonly acceptsLostCommits: boolean;
}

/** The port for operators cannot be opened. The cause is the error of listen(2). */
export class OperatorPortError extends Error {
  override readonly name = 'OperatorPortError';
}

export interface Service {
  /** Where plants are created, as a URL. */
  readonly plantsUrl: string;
  /** Where operators are answered, as a URL; undefined if nowhere. */
  readonly opsUrl: string | undefined;
  /** Whether there was no store, so that the start has made one. */
  readonly storeIsNew: boolean;
  /** Where the first token was written, if the store has ever had one. */
  readonly firstTokenFile: string;
  /** Resolves with the reason why the service cannot go on; it must then be closed. */
  readonly failed: Promise<string>;
  /** What an answer of 200 means, as far as that depends on the settings of a database. */
  readonly promise: CommitPromise | undefined;
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
 * Starts the whole service; when this resolves, it answers. The calling thread only looks after the
 * others: the one that writes, and those that answer requests.
 *
 * @throws StoreOpenError, DescriptorsError, OperatorPortError, or the error of listen(2)
 */
export async function startService(
  config: ServiceConfig,
  logOptions: LogOptions,
): Promise<Service> {
  const { threadCount, ...connectionBounds } = withinDescriptors(config);
  await using starting = new AsyncDisposableStack();
  // Commands other than `serve` need not wait for it, and this one loads it while the writer
  // starts.
  const operatorModule = import('./operator.ts');
  const threads = Array.from({ length: threadCount }, () => starting.use(loadHttpThread()));
  const store = starting.use(
    await openStore(config.store, config.commitMs, config.acceptsLostCommits),
  );
  const tokenFile = firstTokenFile(config.store);
  const log = await openLog(logOptions);
  if (config.fixedToken === undefined && !(await ensureFirstToken(store, tokenFile, Date.now()))) {
    log.info({}, 'another node has made the first token, and it is in a file there');
  }

  const counters = sharedMemory(counterNames);
  const measures = threads.map(() => measuresMemory(httpThreadLayout));
  // A port that another service shares on purpose is taken, and still to be had.
  const isTaken = config.reusePort && config.port > 0;
  await using reserved = isTaken ? undefined : await reservePort(config.host, config.port);
  const threadConfig = {
    ...config,
    ...connectionBounds,
    port: reserved?.port ?? config.port,
    threadCount,
  };
  const httpThreads = measures.map((memory) => measuresIn(httpThreadLayout, memory));
  const { openOperator } = await operatorModule;
  const operator = await openOperator({
    config: threadConfig,
    store,
    log,
    counters: sharedCounters(counters),
    httpThreads,
  }).catch((cause) => {
    throw new OperatorPortError('the port for operators cannot be opened', { cause });
  });
  starting.use(operator);
  const origins = await Promise.all(
    threads.map((thread, index) =>
      thread.listen({
        config: threadConfig,
        log: logOptions,
        counters,
        measures: measures[index] as SharedArrayBuffer,
        store: store.share(),
      }),
    ),
  );

  const running = starting.move();
  return {
    plantsUrl: `${origins[0]}${config.basePath}/plants`,
    opsUrl: operator.url,
    storeIsNew: store.isNew,
    firstTokenFile: tokenFile,
    failed: Promise.race([store.failed, ...threads.map((thread) => thread.failed)]),
    promise: store.promise(),
    admits: (token) => isTokenAdmitted(store, token, Date.now()),
    async close(drainMs, onDraining) {
      operator.noteStopping();
      // None ends its connections before all have stopped: clients that connect again then find the
      // next service on the port.
      await Promise.all(threads.map((thread) => thread.stopAccepting()));
      onDraining();
      await Promise.all(threads.map((thread) => thread.drain(drainMs)));
      await running.disposeAsync();
    },
  };
}

/** The first message to an HTTP thread. */
export interface HttpThreadOptions {
  readonly config: ServiceConfig & {
    readonly connectionsMax: number;
    readonly threadCount: number;
  };
  readonly log: LogOptions;
  /** From `SharedStore.share`. */
  readonly store: StoreShare;
  /** For what this one measures: `httpThreadLayout`. */
  readonly measures: SharedArrayBuffer;
  /** What all threads count together. */
  readonly counters: Readonly<Record<(typeof counterNames)[number], SharedArrayBuffer>>;
}

const counterNames = [
  'connections',
  'pipelinedRequests',
  'bodyBytes',
  'queuedPlants',
  'queuedBytes',
] as const;

/** What the thread says: that it listens, that it accepts no more connections. */
export type HttpThreadReport = { origin: string } | 'accepts nothing';
/** What it is told. */
export type HttpThreadOrder = 'stop accepting' | { readonly drainMs: number };

interface HttpThread extends AsyncDisposable {
  /** @returns the origin of its URLs @throws the error of listen(2) */
  listen(options: HttpThreadOptions): Promise<string>;
  readonly failed: Promise<string>;
  /** Resolves when it accepts no more connections, or has ended. */
  stopAccepting(): Promise<unknown>;
  /**
   * Resolves when everything has been answered, every connection is closed, and the thread has
   * ended.
   */
  drain(drainMs: number): Promise<unknown>;
}

/**
 * The young generation must hold what is alive between receiving a request and answering it: with
 * 12 MB a create costs a quarter more CPU time. Larger is not better: 48 MB make it no cheaper, and
 * the process 12 MB larger.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24 };

/** Starts a thread, which loads its code while the store is opened. */
function loadHttpThread(): HttpThread {
  const thread = startThread('http-thread', { resourceLimits });
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  const started = once(thread, 'message');
  // `listen` passes the error on, also if the thread has failed before the call.
  started.catch(() => undefined);
  const failure = Promise.withResolvers<string>();
  const acceptsNothing = Promise.withResolvers<void>();
  const order = (message: HttpThreadOrder) => thread.postMessage(message);
  thread.on('error', (error: Error) =>
    failure.resolve(`an HTTP thread has failed: ${error.stack}`),
  );
  return {
    async listen(options) {
      thread.postMessage(options, options.store.port === undefined ? [] : [options.store.port]);
      const [report] = (await started) as [Exclude<HttpThreadReport, string>];
      thread.on('message', (message: HttpThreadReport) => {
        if (message === 'accepts nothing') acceptsNothing.resolve();
      });
      return report.origin;
    },
    failed: failure.promise,
    stopAccepting() {
      order('stop accepting');
      return Promise.race([acceptsNothing.promise, exit]);
    },
    drain(drainMs) {
      order({ drainMs });
      return exit;
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate();
    },
  };
}

/** A port that no other program gets. */
interface ReservedPort extends AsyncDisposable {
  readonly port: number;
}

/**
 * Finds out whether the port can be had, and which one 0 stands for. The threads share the port, so
 * to them it would not matter that another program has it that shares it, too. One that was 0 is
 * shared with them until they have it: it would go to somebody else in between.
 */
async function reservePort(host: string, port: number): Promise<ReservedPort> {
  const isShared = port === 0 && process.platform === 'linux';
  const probe = createServer().listen({ host, port, reusePort: isShared });
  await once(probe, 'listening');
  const address = probe.address();
  const close = async () => {
    if (!probe.listening) return;
    probe.close();
    await once(probe, 'close');
  };
  if (!isShared) await close();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: close,
  };
}
