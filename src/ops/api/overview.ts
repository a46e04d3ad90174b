import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/backups.ts';
import type { CommitPromise } from '../../store/store.ts';
import type { TokenRecord } from '../../store/tokens.ts';
import type { Handler } from '../answer.ts';
import { bestEffort } from '../best-effort.ts';
import type { Backup, LastRun, Overview, StoreSizes } from '../contract.ts';
import type { Health } from '../health/health.ts';
import { type Count, missingPlants } from '../metrics/plant-count.ts';
import type { Samples } from '../metrics/samples.ts';
import { reused } from '../reused.ts';
import type { TokenFigureTable } from '../token-figures.ts';
import { mattersIn } from './attention.ts';
import { answerJson, isoTime } from './json.ts';

export interface OverviewSources {
  readonly version: string;
  readonly startedAtMs: number;
  readonly health: Health;
  /** As `Engine.wholeText`. */
  readonly location: string;
  readonly sizes: () => Promise<StoreSizes>;
  readonly promise: () => CommitPromise | undefined;
  readonly lastCount: () => Count | undefined;
  readonly lastBackup: () => Promise<BackupRecord | undefined>;
  /** Whether nothing has this name on the machine of the service. */
  readonly isAbsent: (path: string) => Promise<boolean>;
  /** Null: this service has made no backup. */
  readonly lastRun: () => LastRun | null;
  readonly samples: Pick<Samples, 'tallies'>;
  readonly tokenFigures: TokenFigureTable;
  /** See `readTokensRarely`. */
  readonly liveTokens: () => Promise<readonly TokenRecord[]>;
  readonly now: () => number;
}

/** Operators who ask in the same second get the same overview. */
export function showOverview(sources: OverviewSources): Handler {
  const recent = reused(() => overview(sources), { forMs: limits.ops.overviewEveryMs });
  return async () => answerJson(await recent());
}

async function overview(sources: OverviewSources): Promise<Overview> {
  const [readiness, sizes, record, tokens = []] = await Promise.all([
    sources.health.check(),
    bestEffort(sources.sizes()),
    sources.lastBackup(),
    bestEffort(sources.liveTokens()),
  ]);
  const count = sources.lastCount();
  const isFileGone = record && (await bestEffort(sources.isAbsent(record.file)));
  const shown = {
    ...readiness,
    ...sources.samples.tallies(),
    store: {
      ...sizes,
      location: sources.location,
      promise: sources.promise()?.says ?? null,
      plants: count?.plantsNow ?? null,
      countedAt: isoTime(count?.atMs),
    },
    backup: record ? backupReply(record, count, isFileGone ?? false) : null,
  };
  const watched = {
    ...shown,
    lastRun: sources.lastRun(),
    tokens,
    tokenFigures: sources.tokenFigures,
  };
  return {
    ...shown,
    version: sources.version,
    startedAt: isoTime(sources.startedAtMs),
    attention: mattersIn(watched, sources.now()),
  };
}

function backupReply(backup: BackupRecord, count: Count | undefined, isFileGone: boolean): Backup {
  const { file, finishedAtMs, plants } = backup;
  const missing = missingPlants(backup, count) ?? null;
  return { file, isFileGone, finishedAt: isoTime(finishedAtMs), plants, missingPlants: missing };
}
