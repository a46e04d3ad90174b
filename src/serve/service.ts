import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '../cli/command.ts';
import type { Environment } from '../cli/flags/environment.ts';
import type { TlsFiles } from '../cli/flags/groups.ts';
import { limits } from '../limits.ts';
import type { BackupControl } from '../ops/api/backups.ts';
import { rememberRefusals } from '../ops/refused-requests.ts';
import { tabulateTokens } from '../ops/token-figures.ts';
import { engineOf } from '../store/engines.ts';
import type { SharedStore } from '../store/store.ts';
import type { Log, ServiceLog } from '../telemetry/log.ts';
import type { RequestReport } from '../telemetry/request-reports.ts';
import { watchStore } from '../telemetry/store-watch.ts';
import { sharedCounters, sharedMemory } from '../threads/shared-counter.ts';
import { ensureFirstToken } from '../tokens/first-token.ts';
import { rateLimitMemory } from '../tokens/rate-limit.ts';
import { splitConnections, withinDescriptors } from './capacity.ts';
import type { CertificateWatch } from './certificate.ts';
import type { ServiceConfig } from './config.ts';
import { counterNames, type HttpThread, loadHttpThread } from './http-thread-control.ts';
import type { Operator } from './operator.ts';
import { isAccepting, listenError, reservePort } from './ports.ts';

export type Service = Awaited<ReturnType<typeof startService>>;

/** @throws StoreOpenError, CommandError, or the error of listen(2) of the public port */
export async function startService(
  config: ServiceConfig,
  serviceLog: ServiceLog,
  env: Environment,
  backups?: BackupControl,
) {
  const bounds = withinDescriptors(config);
  if (bounds instanceof CommandError) throw bounds;
  const { threadCount, ...connectionBounds } = bounds;
  const database = splitConnections(config.databaseConnections, threadCount);
  await using starting = new AsyncDisposableStack();
  const { log } = serviceLog;
  const engine = engineOf(config.store);
  const watched = config.tls && starting.use(await watch(config.tls, log));
  const certificates = {
    public: watched,
    // Files that both listeners have are read, and warned of, once.
    operators: isDeepStrictEqual(config.opsTls, config.tls)
      ? watched
      : config.opsTls && starting.use(await watch(config.opsTls, log)),
  };
  // Only this command loads the code, while it opens the store.
  const operatorModule = import('./operator.ts');
  const tokenFigures = tabulateTokens();
  const refusedRequests = rememberRefusals();
  const storeWatch = starting.use(watchStore(log));
  const onRequests = ({ tokens, refusals, failure }: RequestReport) => {
    if (failure) storeWatch.failed(failure);
    tokenFigures.note(tokens, Date.now());
    refusedRequests.add(refusals);
  };
  const threads = Array.from({ length: threadCount }, () =>
    starting.use(loadHttpThread(onRequests, serviceLog.writeLine)),
  );
  const store = starting.use(
    await engine.open({
      ...config,
      callMs: config.commitMs,
      mayMake: true,
      connectionsPerThread: database.mainThread,
    }),
  );
  for (const says of await store.testWrite()) log.warn({}, says);
  // The heartbeats of this service begin with the operators' listener.
  const lastBeatMs = await store.lastBeat();
  const ensureToken = () => ensureFirstToken(store, engine.url, engine.firstTokenFile, Date.now());
  if (config.fixedToken === undefined && !(await ensureToken()))
    log.info({}, 'another node has made the first token, and has written the token to a file');

  const counters = sharedMemory(counterNames);
  // With `--reuse-port`, another service may have the port on purpose.
  const isShared = config.reusePort && config.port > 0;
  await using reserved = isShared ? undefined : await reservePort(config.host, config.port);
  const port = reserved?.port ?? config.port;
  const bounded = { ...config, ...connectionBounds, port, threadCount };
  const { openOperator } = await operatorModule;
  const operator = starting.use(
    await openOperator({
      config: bounded,
      store,
      log,
      certificates,
      tokenFigures,
      storeWatch,
      refusedRequests,
      backups,
      counters: sharedCounters(counters),
      httpThreads: threads,
      droppedLogLines: serviceLog.droppedLines,
    }).catch((cause) => {
      throw listenError(cause, 'ops-', config.opsHost, config.opsPort, env);
    }),
  );
  const rateLimits = rateLimitMemory();
  const threadConfig = {
    ...bounded,
    connectionsPerThread: database.httpThread,
    tls: certificates.public?.current().material,
  };
  const forThreads = { config: threadConfig, log: serviceLog.forThreads, rateLimits, counters };
  const [origin] = await Promise.all(threads.map((thread) => thread.listen(forThreads, store)));
  operator.enter('open');
  certificates.public?.onRenewed((material) => {
    for (const thread of threads) thread.renewTls(material);
  });
  await operator.knowsReadiness;
  const plantsUrl = `${origin}${config.basePath}/plants`;
  return {
    ...serviceOf(plantsUrl, store, operator, threads, starting.move()),
    /** Connections to a database, of all threads. */
    databaseConnectionsMax: database.all,
    /** Time of the last heartbeat in the store before this start, in ms since the epoch. */
    lastBeatMs,
    /** Reads the files of the certificates, and the keys of the identity providers, again. */
    readAgain() {
      for (const certificate of new Set(Object.values(certificates))) certificate?.readNow();
      for (const thread of threads) thread.readKeys();
    },
  };
}

/** @throws CommandError */
async function watch(files: TlsFiles, log: Log): Promise<CertificateWatch> {
  const { watchCertificate } = await import('./certificate.ts');
  return watchCertificate(files, log);
}

function serviceOf(
  plantsUrl: string,
  store: SharedStore,
  operator: Operator,
  threads: readonly HttpThread[],
  resources: AsyncDisposableStack,
) {
  return {
    plantsUrl,
    /** The URL of the operators' listener, if there is one. */
    opsUrl: operator.url,
    store,
    /** Resolves with the reason why the service cannot go on. It must then be closed. */
    failed: Promise.race([store.failed, ...threads.map((thread) => thread.failed)]),
    /**
     * Resolves when every thread on the path of a create has answered. A store that refuses a write
     * has answered. One call at a time.
     */
    proveAlive: () =>
      Promise.all([
        store.beat(Date.now()).catch(() => undefined),
        ...threads.map((thread) => thread.ping()),
      ]),
    /**
     * Stops accepting, answers received requests for at most `drainMs`, and closes the store.
     * Idle connections are kept for almost as long if another service has the port.
     *
     * @param onDraining called when no more connections are accepted
     */
    async close(drainMs: number, onDraining: () => void): Promise<void> {
      operator.enter('stopping');
      // No thread ends connections before all threads have stopped accepting: clients that connect
      // again then reach the next service on the port.
      await Promise.all(threads.map((thread) => thread.stopAccepting()));
      onDraining();
      const { hostname, port } = new URL(plantsUrl);
      // A client may pause, and then send at the moment at which its idle connection is closed. A
      // service that has taken the port over leaves time for it.
      const isTakenOver = await isAccepting(hostname.replace(/^\[|\]$/g, ''), Number(port));
      const { drainIdleMs, lingerMs } = limits.http;
      const idleMs = Math.max(drainIdleMs, isTakenOver ? drainMs - lingerMs : 0);
      await Promise.all(threads.map((thread) => thread.drain(drainMs, idleMs)));
      await resources.disposeAsync();
    },
  };
}
