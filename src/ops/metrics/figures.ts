import { limits } from '../../limits.ts';
import type { SharedStore } from '../../store/store.ts';
import type { BackupRecord, TableReader } from '../../store/tables/tables.ts';
import type { TokenRecord } from '../../store/tables/tokens.ts';
import type { httpThreadLayout, Measures } from '../../threads/measures.ts';
import type { SharedCounter } from '../../threads/shared-counter.ts';
import type { Backup, LastRun, StoreSizes } from '../contract.ts';
import type { Health } from '../health/health.ts';
import type { Heartbeat } from '../health/heartbeat.ts';
import { bestEffort, reused } from '../loading.ts';
import type { TokenFigureTable } from '../token-figures.ts';
import { missingPlants } from './plant-count.ts';

/** Whether its file is gone is known of a backup on this machine. */
export type LastBackup = BackupRecord & Pick<Backup, 'isFileGone'>;

export interface StoreSources {
  readonly sizes: () => Promise<StoreSizes>;
  readonly lastBackup: () => Promise<LastBackup | undefined>;
  /** Null: this service has made no backup. */
  readonly lastRun: () => LastRun | null;
  readonly plants: () => number | undefined;
  readonly health: Health;
  readonly liveTokens: () => Promise<readonly TokenRecord[]>;
  readonly tokenFigures: TokenFigureTable;
}

export interface FigureSources extends StoreSources {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly queuePlantsMax: number;
  readonly connectionsMax: number;
  readonly store: SharedStore;
  readonly heartbeat: Pick<Heartbeat, 'ageMs'>;
  readonly counters: Readonly<
    Record<'connections' | 'queuedPlants' | 'queuedBytes', SharedCounter>
  >;
  readonly mainLagSeconds: () => number;
  /** Seconds since the epoch, by listener. */
  readonly certificatesExpire: () => Readonly<Record<string, number>>;
  /** Undefined without identity providers. */
  readonly jwt: object | undefined;
  readonly droppedLogLines: () => number;
}

/** What `/metrics` reports, at one moment. Undefined: the store does not report it now. */
export type Figures = Awaited<ReturnType<typeof gatherFigures>>;

/** Reads the tokens in force, at most once in `limits.ops.liveTokensEveryMs`. */
export function liveTokensOf(store: TableReader): () => Promise<readonly TokenRecord[]> {
  return reused(() => store.liveTokens(Date.now()), limits.ops.liveTokensEveryMs);
}

const inUseMs = 24 * 3_600_000;

export async function gatherFigures(sources: FigureSources) {
  const { httpThreads, store, counters, queuePlantsMax, connectionsMax, tokenFigures } = sources;
  const plants = sources.plants();
  const lastRun = sources.lastRun() ?? undefined;
  const nowMs = Date.now();
  const { user, system } = process.cpuUsage();
  const [{ ready, checks }, sizes, backup, tokens, liveTokens, identity] = await Promise.all([
    sources.health.check(),
    bestEffort(sources.sizes()),
    bestEffort(sources.lastBackup()),
    bestEffort(store.countTokens(nowMs, nowMs - inUseMs)),
    bestEffort(sources.liveTokens()),
    bestEffort(store.identity()),
  ]);
  const ofPlants = checks.find(({ name }) => name === 'plants');
  return {
    httpThreads,
    writers: store.metrics.writers,
    queuePlantsMax,
    connectionsMax,
    tokenFigures,
    queuePlants: counters.queuedPlants.count(),
    queueBytes: counters.queuedBytes.count(),
    connections: counters.connections.count(),
    mainLagSeconds: sources.mainLagSeconds(),
    heartbeatAgeMs: sources.heartbeat.ageMs(),
    certificatesExpire: sources.certificatesExpire(),
    // Of the thread and the identity provider that are behind. In seconds since the epoch; 0 for
    // never.
    issuerKeysReadSeconds:
      sources.jwt && Math.min(...httpThreads.map((one) => one.issuerKeysReadSeconds[0] ?? 0)),
    droppedLogLines: sources.droppedLogLines(),
    ready,
    sizes,
    plants,
    // Negative after the clock was set back, of which an alert warns.
    backupAgeSeconds: backup && (Date.now() - backup.finishedAtMs) / 1_000,
    missingPlants: backup && missingPlants(backup, plants),
    // Undefined without a folder for backups.
    plantsAreLost: ofPlants && ofPlants.level === 'warning',
    identity,
    databaseConnections: store.metrics.connections(),
    promisedDisks: store.durability()?.disks,
    tokens,
    liveTokens,
    backupFailed: lastRun && lastRun.fault !== null,
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
  };
}
