import { dirname } from 'node:path';
import type { Setting } from '../cli/flags/command-line.ts';
import { problems } from '../contract/problems.ts';
import { fileSystemOfLater, isSpaceLow } from '../disk/file-system.ts';
import { isAbsentLater } from '../disk/files.ts';
import type { ListenerEvents } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import type { BackupControl } from '../ops/api/backups.ts';
import { createHealth, type Phase, type Space } from '../ops/health/health.ts';
import { type Heartbeat, startHeartbeat } from '../ops/health/heartbeat.ts';
import { listenForOperators, probesOf } from '../ops/listener.ts';
import { bestEffort, reused } from '../ops/loading.ts';
import type { LastBackup } from '../ops/metrics/metrics.ts';
import { plantCount } from '../ops/metrics/plant-count.ts';
import { createsOf, startSamples } from '../ops/metrics/samples.ts';
import { openReaderThread, type ReaderThread } from '../ops/reader.ts';
import type { RefusedRequests } from '../ops/refused-requests.ts';
import type { TokenFigureTable } from '../ops/token-figures.ts';
import { startThread, version } from '../program.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import type { SharedStore } from '../store/store.ts';
import type { BackupRecord, TableReader } from '../store/tables/tables.ts';
import { watchEventLoop } from '../telemetry/event-loop.ts';
import { isOutageOnly, type Log } from '../telemetry/log.ts';
import type { StoreWatch } from '../telemetry/store-watch.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { sessionsIn } from '../tokens/sessions.ts';
import type { CertificateWatch } from './certificate.ts';
import type { ServiceConfig } from './config.ts';
import type { HttpThread } from './http-thread-control.ts';

export interface OperatorOptions {
  readonly config: ServiceConfig & Readonly<Record<'connectionsMax' | 'opsConnectionsMax', number>>;
  readonly store: SharedStore;
  readonly log: Log;
  readonly certificates: Certificates;
  readonly tokenFigures: TokenFigureTable;
  readonly storeWatch: StoreWatch;
  readonly refusedRequests: RefusedRequests;
  readonly backups: BackupControl | undefined;
  readonly counters: Readonly<
    Record<'connections' | 'queuedPlants' | 'queuedBytes', SharedCounter>
  >;
  readonly httpThreads: readonly Pick<HttpThread, 'measures' | 'ping'>[];
  readonly droppedLogLines: () => number;
}

/** Undefined for a listener without encryption. */
type Certificates = Readonly<Record<'public' | 'operators', CertificateWatch | undefined>>;

export type Operator = Awaited<ReturnType<typeof openOperator>>;

/** The operators' side of a service. Disposing of it closes the operators' listener. */
export async function openOperator(options: OperatorOptions) {
  const { config, store, log, storeWatch } = options;
  const { opsPort } = config;
  await using starting = new AsyncDisposableStack();
  const heartbeat = starting.use(startHeartbeat(() => storeWatch.beat(store)));
  if (opsPort === 'off') {
    const watching = starting.move();
    return {
      url: undefined,
      knowsReadiness: Promise.resolve(),
      enter() {},
      [Symbol.asyncDispose]: () => watching.disposeAsync(),
    };
  }
  let phase: Phase = 'starting';
  const sources = openSources(options, heartbeat, () => phase, starting);
  const listener = await listenForOperators({
    ...config,
    opsPort,
    tls: options.certificates.operators?.current().material,
    events: operatorEvents(log),
    probes: probesOf(sources),
    async loadConsole() {
      // Most services are only probed.
      const { openConsole } = await import('../ops/routes.ts');
      const { url: location } = engineOf(config.store);
      // `new URL` refuses the zone of an address, as in `fe80::1%eth0`.
      const port = listener.origin.replace(/.*:/, '');
      return openConsole({
        ...sources,
        version,
        location,
        settings: inForce(port, options),
        startedAtMs: performance.timeOrigin,
        sessions: sessionsIn(store, Date.now),
        now: Date.now,
      });
    },
  });
  options.certificates.operators?.onRenewed(listener.renewTls);
  // Idle connections are closed at once, and no answer to an operator takes long.
  starting.defer(() => listener.close(limits.service.opsCloseMs, 0));
  const running = starting.move();
  return {
    url: `${listener.origin}/`,
    /** Resolves when `/readyz` knows whether creates are stored. */
    knowsReadiness: sources.begun,
    /** The service is ready from the phase `open` on, if it stores creates. */
    enter(next: Exclude<Phase, 'starting'>) {
      phase = next;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** With what the service has chosen itself. */
function inForce(opsPort: string, { config, httpThreads }: OperatorOptions): readonly Setting[] {
  const chosen = new Map([
    ['port', `${config.port}`],
    ['ops-port', opsPort],
    ['http-threads', `${httpThreads.length}`],
    ['store', engineOf(config.store).url],
  ]);
  return config.settings.map((setting) => {
    const value = chosen.get(setting.name) ?? setting.inForce;
    return { ...setting, inForce: value === setting.value ? null : value };
  });
}

/** What health, metrics and the console show, each from its source. */
function openSources(
  options: OperatorOptions,
  heartbeat: Heartbeat,
  phase: () => Phase,
  starting: AsyncDisposableStack,
) {
  const { config, store, log, counters, backups, storeWatch } = options;
  const [queuePlants, connections] = [counters.queuedPlants.count, counters.connections.count];
  const httpThreads = options.httpThreads.map(({ measures }) => measures);
  const threads = options.httpThreads.map(({ ping }) => starting.use(startHeartbeat(ping)));
  let mainLagSeconds = 0;
  starting.use(
    watchEventLoop((seconds) => {
      mainLagSeconds = seconds;
    }),
  );
  const samples = starting.use(startSamples({ httpThreads, queuePlants, connections }));
  const reader = starting.use(openReader(config.store, log));
  const space = spaceOf(config.store);
  const count = plantCount(reader, () => createsOf(httpThreads, 'created'), queuePlants);
  // Begins the first count.
  if (backups) count();
  const { queuePlantsMax, connectionsMax } = config;
  const sources = {
    ...options,
    queuePlantsMax,
    connectionsMax,
    httpThreads,
    samples,
    reader,
    durability: store.durability,
    sizes: sizesOf(config.store, store, space),
    plants: () => count()?.plants,
    lastBackup: lastBackupOf(config.store, store),
    lastRun: () => backups?.last() ?? null,
    liveTokens: reused(() => store.liveTokens(Date.now()), limits.ops.liveTokensEveryMs),
    writers: store.metrics.writers,
    heartbeatAgeMs: heartbeat.ageMs,
    queuePlants,
    queueBytes: counters.queuedBytes.count,
    connections,
    mainLagSeconds: () => mainLagSeconds,
    certificatesExpire: () => expiriesOf(options.certificates),
    issuerKeysReadSeconds: () => config.jwt && issuerKeysReadSeconds(httpThreads),
  };
  const health = createHealth({
    ...sources,
    heartbeat,
    threads,
    space,
    loss: backups && (() => backups.loss(count())),
    phase,
    weakerSinceMs: storeWatch.weakerSinceMs,
    recentCreates: samples.recentCreates,
  });
  const begun = Promise.all([heartbeat, ...threads].map((one) => one.begun));
  return { ...sources, health, begun };
}

/** Of the thread and the identity provider that are behind. */
function issuerKeysReadSeconds(httpThreads: readonly HttpThread['measures'][]): number {
  return Math.min(...httpThreads.map((measures) => measures.issuerKeysReadSeconds[0] ?? 0));
}

function expiriesOf(certificates: Certificates): Record<string, number> {
  return Object.fromEntries(
    Object.entries(certificates).flatMap(([listener, certificate]) =>
      certificate ? [[listener, certificate.current().expiresAtMs / 1_000]] : [],
    ),
  );
}

function operatorEvents(log: Log): ListenerEvents {
  return {
    refused: ({ problem, message: reason }, { requestId }) =>
      log.debug({ requestId, code: problems[problem].code, reason }, 'an operator was refused'),
    failed: (err, { requestId }) =>
      log.error({ requestId, err }, 'an operator could not be answered'),
  };
}

/** The thread holds one page of plants, and should cost little memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 1 };

/**
 * The newest backup whose file is there, or else the newest: a backup that was made elsewhere and
 * removed hides no other. Another machine may have the backups of a database. One look at a time: a
 * disk that does not return holds a thread of Node.
 */
function lastBackupOf(
  location: StoreLocation,
  store: TableReader,
): () => Promise<LastBackup | undefined> {
  const isLocal = engineOf(location).file !== undefined;
  let newestFirst: readonly BackupRecord[] = [];
  const find = reused(async () => {
    for (const backup of newestFirst)
      if (!isLocal || !(await isAbsentLater(backup.file))) return { ...backup, isFileGone: false };
    const [newest] = newestFirst;
    return newest && { ...newest, isFileGone: true };
  }, 0);
  return async () => {
    newestFirst = await store.listBackups();
    const [newest] = newestFirst;
    return (await bestEffort(find())) ?? (newest && { ...newest, isFileGone: false });
  };
}

function openReader(location: StoreLocation, log: Log): ReaderThread {
  return openReaderThread(
    () => startThread('reader-thread', { workerData: location, resourceLimits }),
    (err) =>
      log[isOutageOnly(err) ? 'debug' : 'error'](
        { err },
        'the thread that reads the store has failed; the next read starts another',
      ),
  );
}

type ReadSpace = () => Promise<Space | undefined>;

/** Undefined for a store that is not on a disk of this machine. */
function spaceOf(location: StoreLocation): ReadSpace | undefined {
  const { file } = engineOf(location);
  if (file === undefined) return undefined;
  return reused(async () => {
    const { bytes, freeBytes } = await fileSystemOfLater(dirname(file));
    return bytes === 0 ? undefined : { freeBytes, isLow: isSpaceLow({ bytes, freeBytes }) };
  }, 0);
}

/** One look at a time, as for the last backup. */
function sizesOf(location: StoreLocation, store: SharedStore, readSpace: ReadSpace | undefined) {
  const plants = reused(store.metrics.plantsBytes, 0);
  const log = reused(engineOf(location).walBytes, 0);
  return async () => {
    const [plantsBytes, logBytes, space] = await Promise.all([
      bestEffort(plants()),
      bestEffort(log()),
      readSpace && bestEffort(readSpace()),
    ]);
    return { plantsBytes, logBytes, freeBytes: space?.freeBytes, isSpaceLow: space?.isLow };
  };
}
