import type { BackupRecord, SharedStore, TokenCounts } from '../../store/store.ts';
import {
  type httpThreadLayout,
  type Measures,
  sumOf,
  type writerLayout,
} from '../../threads/measures.ts';
import type { Health } from '../health/health.ts';
import { known } from '../known.ts';
import type { Count } from './plant-count.ts';

/**
 * What operators are told of the service, as it is at one moment. What is not known is undefined.
 */
export interface Figures {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly writers: readonly Measures<typeof writerLayout>[];
  readonly ready: boolean;
  readonly heartbeatAgeSeconds: number | undefined;
  readonly queuePlants: number;
  readonly queuePlantsMax: number;
  readonly queueBytes: number;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly mainLagSeconds: number;
  readonly store: StoreSizes & {
    readonly plants: number | undefined;
    readonly backup:
      | { readonly ageSeconds: number; readonly missingPlants: number | undefined }
      | undefined;
  };
  /** To the database, if the store is in one. */
  readonly databaseConnections: number | undefined;
  readonly tokens: TokenCounts | undefined;
  readonly process: {
    readonly residentBytes: number;
    readonly cpuSeconds: number;
    readonly startedSeconds: number;
  };
}

/** The log and the disk only of a store in files of this machine. */
export interface StoreSizes {
  /** The file of the store, or the table of the plants. */
  readonly plantsBytes: number | undefined;
  readonly logBytes: number | undefined;
  readonly freeBytes: number | undefined;
  /** Whether that is to be warned of. */
  readonly isSpaceLow: boolean | undefined;
}

export interface FigureSources {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly writers: readonly Measures<typeof writerLayout>[];
  readonly store: SharedStore;
  readonly sizes: () => Promise<StoreSizes>;
  readonly lastCount: () => Count | undefined;
  readonly health: Health;
  /** What costs nothing to ask. */
  readonly current: () => Pick<
    Figures,
    'queuePlants' | 'queueBytes' | 'connections' | 'mainLagSeconds'
  > & {
    readonly heartbeatAgeMs: number | undefined;
  };
  readonly queuePlantsMax: number;
  readonly connectionsMax: number;
}

/** A token counts as used that has been used within this time. */
const inUseMs = 24 * 3_600_000;

/** What the store does not tell now is left out. */
export async function gatherFigures(sources: FigureSources): Promise<Figures> {
  const { httpThreads, writers, store, queuePlantsMax, connectionsMax } = sources;
  const { heartbeatAgeMs, ...current } = sources.current();
  const plants = plantsNow(sources.lastCount(), createdBy(httpThreads));
  const nowMs = Date.now();
  const [sizes, backup, tokens] = await Promise.all([
    known(sources.sizes()),
    known(store.lastBackup()),
    known(store.countTokens(nowMs, nowMs - inUseMs)),
  ]);
  return {
    ...{ httpThreads, writers, queuePlantsMax, connectionsMax, ...current },
    ready: (await sources.health.check()).ready,
    heartbeatAgeSeconds: heartbeatAgeMs === undefined ? undefined : heartbeatAgeMs / 1_000,
    store: { ...(sizes ?? noSizes), plants, backup: backup && sinceBackup(backup, plants) },
    databaseConnections: store.connections(),
    tokens,
    process: processFigures(),
  };
}

const noSizes: StoreSizes = {
  plantsBytes: undefined,
  logBytes: undefined,
  freeBytes: undefined,
  isSpaceLow: undefined,
};

/** How many plants those threads have created. */
export function createdBy(httpThreads: readonly Measures<typeof httpThreadLayout>[]): number {
  return sumOf(httpThreads.map(({ created }) => created))[0] ?? 0;
}

function plantsNow(count: Count | undefined, created: number): number | undefined {
  return count && count.plants + created - count.createdBefore;
}

function sinceBackup({ finishedAtMs, plants: saved }: BackupRecord, plants: number | undefined) {
  // The clock may have been set back, and the count may be older than the backup.
  return {
    ageSeconds: Math.max(0, Date.now() - finishedAtMs) / 1_000,
    missingPlants: plants === undefined ? undefined : Math.max(0, plants - saved),
  };
}

function processFigures(): Figures['process'] {
  const { user, system } = process.cpuUsage();
  return {
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    startedSeconds: performance.timeOrigin / 1_000,
  };
}
