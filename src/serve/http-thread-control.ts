import type { TlsMaterial } from '../http/tls.ts';
import { startThread } from '../program.ts';
import type { SharedStore, StoreShare } from '../store/store.ts';
import type { ThreadLogOptions } from '../telemetry/log.ts';
import type { RequestReport } from '../telemetry/request-reports.ts';
import { callsTo } from '../threads/calls.ts';
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

/** Messages from an HTTP thread besides the answers to calls. */
export type HttpThreadReport = { readonly requests: RequestReport } | { readonly logLine: string };

export type HttpThread = ReturnType<typeof loadHttpThread>;

/**
 * The young generation must hold what lives from a request to its reply: with 12 MB a create costs
 * a quarter more CPU time. With 48 MB a create is no cheaper, and the process is 12 MB larger.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24 };

/** The thread loads its code while the store is opened. @param onRequests at most once a second */
export function loadHttpThread(
  onRequests: (requests: RequestReport) => void,
  onLogLine: (line: string) => void,
) {
  const thread = startThread('http-thread', { resourceLimits });
  const { call } = callsTo(thread, 'an HTTP thread');
  const measures = measuresMemory(httpThreadLayout);
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  const crash = new Promise<Error>((resolve) => thread.once('error', resolve));
  const failure = Promise.withResolvers<string>();
  const fail = ({ stack }: Error) => failure.resolve(`an HTTP thread has failed: ${stack}`);
  void crash.then(fail);
  void exit.then(() => failure.resolve('an HTTP thread has ended'));
  thread.on('message', (report: HttpThreadReport) => {
    if ('requests' in report) onRequests(report.requests);
    if ('logLine' in report) onLogLine(report.logLine);
  });
  return {
    measures: measuresIn(httpThreadLayout, measures),
    /** @returns the origin of its URLs @throws the error of listen(2) */
    async listen(options: Omit<HttpThreadOptions, 'measures' | 'store'>, shared: SharedStore) {
      const complete: HttpThreadOptions = { ...options, store: shared.share(thread), measures };
      const crashed = crash.then((error) => Promise.reject(error));
      return (await Promise.race([call('listen', [complete]), crashed])) as string;
    },
    failed: failure.promise,
    /** Resolves when the thread listens and has answered: its event loop turns. Fails at its end. */
    async ping(): Promise<void> {
      await call('ping');
    },
    renewTls: (material: TlsMaterial) => call('renewTls', [material]).catch(fail),
    /** The thread reads the keys of the identity providers again. */
    readKeys: () => call('readKeys').catch(fail),
    /** Resolves when the thread has stopped accepting connections, or has ended. */
    stopAccepting: () => call('stopAccepting').catch(fail),
    /** Resolves when requests are answered, connections are closed, and the thread has ended. */
    async drain(drainMs: number, idleMs: number): Promise<void> {
      call('drain', [drainMs, idleMs]).catch(fail);
      await exit;
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate();
    },
  };
}
