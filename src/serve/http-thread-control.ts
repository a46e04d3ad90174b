import type { TlsMaterial } from '../http/tls.ts';
import { startThread } from '../program.ts';
import type { SharedStore, StoreShare } from '../store/store.ts';
import type { ThreadLogOptions } from '../telemetry/log.ts';
import type { RequestReport } from '../telemetry/request-reports.ts';
import { httpThreadLayout, measuresIn, measuresMemory } from '../threads/measures.ts';
import type { ServiceConfig } from './config.ts';

/** The first message to an HTTP thread. */
export interface HttpThreadOptions {
  readonly config: Omit<ServiceConfig, 'tls'> & {
    readonly tls: TlsMaterial | undefined;
    readonly connectionsMax: number;
    readonly connectionsPerThread: number;
    readonly threadCount: number;
  };
  readonly log: ThreadLogOptions;
  readonly store: StoreShare;
  /** Memory of this thread's measures, by `httpThreadLayout`. */
  readonly measures: SharedArrayBuffer;
  readonly rateLimits: SharedArrayBuffer;
  /** Memory of the counters of all threads. */
  readonly counters: Readonly<Record<(typeof counterNames)[number], SharedArrayBuffer>>;
}

export const counterNames = [
  'connections',
  'lingering',
  'strangers',
  'pipelinedRequests',
  'queuedPlants',
  'queuedBytes',
] as const;

/**
 * Messages from an HTTP thread: it listens, it has stopped accepting, it answers a ping, it reports
 * its requests, or it logs a line.
 */
export type HttpThreadReport =
  | { readonly origin: string }
  | { readonly requests: RequestReport }
  | { readonly logLine: string }
  | 'accepts nothing'
  | 'pong';

/** As the arguments of a listener's `close`. */
export interface Drain {
  readonly drainMs: number;
  readonly idleMs: number;
}

/** Later messages to an HTTP thread. */
export type HttpThreadOrder =
  | 'stop accepting'
  | 'ping'
  | 'read keys'
  | Drain
  | { readonly renewTls: TlsMaterial };

export type HttpThread = ReturnType<typeof loadHttpThread>;

/**
 * The young generation must hold what lives from a request to its reply: with 12 MB a create costs
 * a quarter more CPU time. With 48 MB a create is no cheaper, and the process is 12 MB larger.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24 };

/**
 * Starts a thread, which loads its code while the store is opened.
 *
 * @param onRequests called once a second at most
 */
export function loadHttpThread(
  onRequests: (requests: RequestReport) => void,
  onLogLine: (line: string) => void,
) {
  const thread = startThread('http-thread', { resourceLimits });
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  const started = Promise.withResolvers<string>();
  // `listen` passes the error on, even if the thread has failed before the call.
  started.promise.catch(() => undefined);
  const measures = measuresMemory(httpThreadLayout);
  const failure = Promise.withResolvers<string>();
  const acceptsNothing = Promise.withResolvers<void>();
  let pong: PromiseWithResolvers<void> | undefined;
  const order = (message: HttpThreadOrder) => thread.postMessage(message);
  thread.on('message', (message: HttpThreadReport) => {
    if (message === 'accepts nothing') acceptsNothing.resolve();
    else if (message === 'pong') {
      pong?.resolve();
      pong = undefined;
    } else if ('origin' in message) started.resolve(message.origin);
    else if ('requests' in message) onRequests(message.requests);
    else if ('logLine' in message) onLogLine(message.logLine);
  });
  thread.on('error', (error: Error) => {
    started.reject(error);
    failure.resolve(`an HTTP thread has failed: ${error.stack}`);
  });
  void exit.then(() => {
    started.reject(new Error('an HTTP thread has ended'));
    failure.resolve('an HTTP thread has ended');
  });
  return {
    measures: measuresIn(httpThreadLayout, measures),
    /** @returns the origin of its URLs @throws the error of listen(2) */
    listen(options: Omit<HttpThreadOptions, 'measures' | 'store'>, shared: SharedStore) {
      const store = shared.share(thread);
      thread.postMessage({ ...options, store, measures } satisfies HttpThreadOptions);
      return started.promise;
    },
    failed: failure.promise,
    /** Resolves when the thread listens and has answered: its event loop turns. */
    async ping(): Promise<void> {
      await started.promise;
      if (pong === undefined) {
        pong = Promise.withResolvers();
        order('ping');
      }
      return pong.promise;
    },
    renewTls: (material: TlsMaterial) => order({ renewTls: material }),
    /** The thread reads the keys of the identity providers again. */
    readKeys: () => order('read keys'),
    /** Resolves when the thread has stopped accepting connections, or has ended. */
    stopAccepting(): Promise<unknown> {
      order('stop accepting');
      return Promise.race([acceptsNothing.promise, exit]);
    },
    /** Resolves when requests are answered, connections are closed, and the thread has ended. */
    drain(bounds: Drain): Promise<unknown> {
      order(bounds);
      return exit;
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate();
    },
  };
}
