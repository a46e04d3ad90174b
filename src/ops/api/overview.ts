import { limits } from '../../limits.ts';
import { isoTime } from '../../quantity-text.ts';
import type { Durability } from '../../store/store.ts';
import type { Handler } from '../answer.ts';
import type { Overview } from '../contract.ts';
import { bestEffort, reused } from '../loading.ts';
import type { StoreSources } from '../metrics/metrics.ts';
import { missingPlants } from '../metrics/plant-count.ts';
import type { Samples } from '../metrics/samples.ts';
import { findingsIn } from './attention.ts';
import { answerJson } from './json.ts';

export interface OverviewSources extends StoreSources {
  readonly version: string;
  readonly startedAtMs: number;
  /** As `Engine.url`. */
  readonly location: string;
  readonly durability: () => Durability | undefined;
  readonly samples: Pick<Samples, 'tallies'>;
  readonly now: () => number;
}

/** Operators who ask in the same second get the same overview. */
export function showOverview(sources: OverviewSources): Handler {
  const recent = reused(() => overview(sources), limits.ops.overviewEveryMs);
  return async () => answerJson(await recent());
}

async function overview(sources: OverviewSources): Promise<Overview> {
  const [readiness, sizes, record, tokens = []] = await Promise.all([
    sources.health.check(),
    bestEffort(sources.sizes()),
    sources.lastBackup(),
    bestEffort(sources.liveTokens()),
  ]);
  const plants = sources.plants();
  const shown = {
    ...readiness,
    ...sources.samples.tallies(),
    store: {
      ...sizes,
      location: sources.location,
      promise: sources.durability()?.says ?? null,
      plants: plants ?? null,
    },
    backup: record
      ? {
          file: record.file,
          isFileGone: record.isFileGone,
          finishedAt: isoTime(record.finishedAtMs),
          plants: record.plants,
          missingPlants: missingPlants(record, plants) ?? null,
        }
      : null,
  };
  const { tokenFigures, version, startedAtMs } = sources;
  const watched = { ...shown, lastRun: sources.lastRun(), tokens, tokenFigures };
  const attention = findingsIn(watched, sources.now());
  return { ...shown, version, startedAt: isoTime(startedAtMs), attention };
}
