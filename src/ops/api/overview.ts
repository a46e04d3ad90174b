import type { BackupRecord, CommitPromise } from '../../store/store.ts';
import type { Health } from '../health/health.ts';
import { known } from '../known.ts';
import type { StoreSizes } from '../metrics/figures.ts';
import type { Count } from '../metrics/plant-count.ts';
import { isoTime } from './answers.ts';

export interface OverviewSources {
  readonly version: string;
  readonly startedAtMs: number;
  readonly health: Health;
  /** As `--store` names it. */
  readonly location: string;
  readonly sizes: () => Promise<StoreSizes>;
  /** What a 200 means, where that depends on the settings of a database. */
  readonly promise: () => CommitPromise | undefined;
  readonly lastCount: () => Count | undefined;
  readonly lastBackup: () => Promise<BackupRecord | undefined>;
  /** The flags in force, as an operator would type them. */
  readonly settings: readonly {
    readonly name: string;
    readonly value: string;
    readonly default: string | null;
  }[];
}

/** Everything that an operator wants to see first. */
export async function overview(sources: OverviewSources) {
  const [readiness, sizes, backup] = await Promise.all([
    sources.health.check(),
    known(sources.sizes()),
    sources.lastBackup(),
  ]);
  const count = sources.lastCount();
  return {
    version: sources.version,
    startedAt: isoTime(sources.startedAtMs),
    ...readiness,
    store: {
      location: sources.location,
      ...sizes,
      promise: sources.promise()?.says ?? null,
      plants: count?.plants ?? null,
      countedAt: isoTime(count?.atMs),
    },
    backup: backup === undefined ? null : shown(backup),
    configuration: sources.settings,
  };
}

function shown({ file, finishedAtMs, plants, digest }: BackupRecord) {
  return { file, finishedAt: isoTime(finishedAtMs), plants, digest };
}
