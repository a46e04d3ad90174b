import { parentPort } from 'node:worker_threads';
import { openApiDocument } from '../contract/openapi.ts';
import { problemNames } from '../contract/problems.ts';
import { crossOrigin } from '../create/cross-origin.ts';
import { CreateObserver, type ObserveCreate } from '../create/observer.ts';
import { routes } from '../create/routes.ts';
import { newRequestIdPrefix } from '../http/exchange.ts';
import { listen } from '../http/listener.ts';
import type { TlsMaterial } from '../http/tls.ts';
import { limits } from '../limits.ts';
import { createCommitQueue } from '../store/commit-queue.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreError } from '../store/errors.ts';
import type { PlantToCreate } from '../store/plants.ts';
import type { Store } from '../store/store.ts';
import { watchEventLoop } from '../telemetry/event-loop.ts';
import {
  isOutageOnly,
  type Log,
  type LogEvents,
  logEvents,
  openThreadLog,
} from '../telemetry/log.ts';
import { reportRequests } from '../telemetry/request-reports.ts';
import { answerCalls } from '../threads/calls.ts';
import { count, httpThreadLayout, measuresIn } from '../threads/measures.ts';
import { sharedCounters } from '../threads/shared-counter.ts';
import { openOpaqueTokens } from '../tokens/opaque-tokens.ts';
import { rateLimiterIn } from '../tokens/rate-limit.ts';
import type { HttpThreadOptions, HttpThreadReport } from './http-thread-control.ts';

/*
 * An HTTP thread. All HTTP threads listen on one port, and the kernel deals the connections out
 * (SO_REUSEPORT). Each thread parses, authorizes and commits its own batches. The threads share the
 * bounds.
 */

const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const report = (message: HttpThreadReport) => owner.postMessage(message);
const serving = Promise.withResolvers<Awaited<ReturnType<typeof serve>>>();

answerCalls(owner, {
  async listen(options: HttpThreadOptions): Promise<string> {
    const log = await openThreadLog(options.log, (logLine) => report({ logLine }));
    serving.resolve(await serve(options, log));
    return (await serving.promise).origin;
  },
  async ping(): Promise<void> {
    await serving.promise;
  },
  renewTls: async (material: TlsMaterial) => (await serving.promise).renewTls(material),
  readKeys: async () => (await serving.promise).readKeys(),
  stopAccepting: async () => (await serving.promise).stopAccepting(),
  async drain(drainMs: number, idleMs: number): Promise<void> {
    const { close } = await serving.promise;
    // What is still under way, such as a retry of an exporter of traces, keeps no thread.
    await close(drainMs, idleMs).finally(() => process.exit());
  },
});

async function serve({ config, ...shared }: HttpThreadOptions, log: Log) {
  const engine = engineOf(config.store);
  await using starting = new AsyncDisposableStack();
  // First, and so closed last: by then every create has its reply. Most services do not load the
  // code of traces and JWTs.
  const traces = config.tracesUrl
    ? starting.use(
        (await import('../telemetry/traces.ts')).openTraces(
          config.tracesUrl,
          { ...config, dbSystem: engine.dbSystem },
          log,
        ),
      )
    : undefined;
  const store = starting.use(
    await engine.join(shared.store, { ...config, callMs: config.commitMs }),
  );
  const onError = (message: string, error: unknown) =>
    log[isOutageOnly(error as Error) ? 'debug' : 'error']({ err: error }, message);
  const requestIdPrefix = newRequestIdPrefix(Date.now());
  const requests = starting.use(
    reportRequests(requestIdPrefix, Date.now, (reported) => report({ requests: reported })),
  );
  const { newTally } = requests;
  const opaque = starting.use(
    await openOpaqueTokens({
      store,
      fixedToken: config.fixedToken,
      threads: config.threadCount,
      now: Date.now,
      onError,
      newTally,
    }),
  );
  const jwtModule = config.jwt && (await import('../tokens/jwt/jwt-access.ts'));
  const jwts =
    config.jwt &&
    jwtModule &&
    starting.use(
      jwtModule.openJwtAccess({ store, rules: config.jwt, now: Date.now, log, newTally }),
    );
  const access = jwtModule && jwts ? jwtModule.withJwts(opaque, jwts, config.fixedToken) : opaque;
  const logged = starting.use(logEvents(log, config.threadCount));
  const counters = sharedCounters(shared.counters);
  const measures = measuresIn(httpThreadLayout, shared.measures);
  const bounds = { ...config, batchesMax: store.batchesMax };
  const queue = createCommitQueue(createAndLog(store, logged), bounds, counters);
  starting.use(
    watchEventLoop((lagSeconds) => {
      measures.eventLoopLagSeconds[0] = lagSeconds;
      measures.queueAgeSeconds[0] = queue.ageMs() / 1_000;
      measures.issuerKeysReadSeconds[0] = (jwts?.keysReadAtMs() ?? 0) / 1_000;
    }),
  );
  const observe: ObserveCreate = (exchange, tally) =>
    traces?.observeTraced(exchange, tally, measures) ?? new CreateObserver(tally, measures);
  const limiter = rateLimiterIn(shared.rateLimits);
  const cors = config.corsOrigins && crossOrigin(config.corsOrigins);
  const openApi = JSON.stringify(openApiDocument(config.basePath, config.bodyBytesMax));
  const { strangersBytesMax, clientsBytesMax } = limits.http;
  // All threads get each message, and so does no other service in this process.
  const room = new BroadcastChannel(`room for connections ${process.pid}`);
  const listener = await listen({
    ...config,
    strangersBytesMax: strangersBytesMax / config.threadCount,
    // The largest bodies of two clients fit, however many threads there are.
    clientsBytesMax: Math.max(clientsBytesMax / config.threadCount, 3 * config.bodyBytesMax),
    askForRoom: () => room.postMessage(undefined),
    reusePort: true,
    answerMs: config.commitMs,
    idleMs: limits.http.idleMs,
    counters,
    handle: routes({ ...config, access, limiter, queue, observe, openApi, cors }),
    replyLines: cors?.replyLines,
    events: {
      refused(refusal, exchange) {
        count(measures.refusals, 1, problemNames.indexOf(refusal.problem));
        requests.noteRefusal(refusal, exchange);
        logged.refused(refusal, exchange);
      },
      failed: logged.failed,
    },
    requestIdPrefix,
  });
  room.onmessage = listener.endStranger;

  const running = starting.move();
  return {
    origin: listener.origin,
    readKeys: () => jwts?.readKeys(),
    renewTls: listener.renewTls,
    stopAccepting: listener.stopAccepting,
    async close(drainMs: number, idleMs: number): Promise<void> {
      await listener.close(drainMs, idleMs);
      await running.disposeAsync();
    },
  };
}

function createAndLog(store: Store, events: LogEvents) {
  return (plants: readonly PlantToCreate[]) =>
    store.createPlants(plants).catch((error: StoreError) => {
      events.transactionFailed(error, plants.length);
      throw error;
    });
}
