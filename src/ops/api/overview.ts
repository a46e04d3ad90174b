import { expiresSoon } from '../../access/opaque-tokens.ts';
import { rateText } from '../../access/rate-limit.ts';
import { problemNames, problems } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { reused } from '../../reused.ts';
import type { BackupRecord } from '../../store/backups.ts';
import { shellQuoted } from '../../store/command-text.ts';
import type { JobRecord } from '../../store/jobs.ts';
import type { CommitPromise } from '../../store/store.ts';
import type { TokenRecord } from '../../store/tokens.ts';
import type { Handler } from '../answer.ts';
import { bestEffort } from '../best-effort.ts';
import type {
  Backup,
  ExpiringToken,
  Job,
  Limited,
  Overview,
  RefusedOnly,
  Setting,
  StoreSizes,
} from '../contract.ts';
import type { Health } from '../health/health.ts';
import { type Count, missingPlants } from '../metrics/plant-count.ts';
import type { Samples } from '../metrics/samples.ts';
import {
  type RefusedToken,
  refusedIn,
  type TokenFigures,
  type TokenFigureTable,
} from '../token-figures.ts';
import { answerJson, isoTime } from './json.ts';

export interface OverviewSources {
  readonly version: string;
  readonly startedAtMs: number;
  readonly health: Health;
  readonly location: string;
  /** As `Engine.wholeText`. */
  readonly wholeLocation: string;
  readonly sizes: () => Promise<StoreSizes>;
  readonly promise: () => CommitPromise | undefined;
  readonly lastCount: () => Count | undefined;
  readonly lastBackup: () => Promise<BackupRecord | undefined>;
  /** Whether nothing has this name on the machine of the service. */
  readonly isAbsent: (path: string) => Promise<boolean>;
  readonly listJobs: () => Promise<readonly JobRecord[]>;
  readonly settings: readonly Setting[];
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
  const [readiness, sizes, backup, jobs, liveTokens] = await Promise.all([
    sources.health.check(),
    bestEffort(sources.sizes()),
    sources.lastBackup(),
    sources.listJobs(),
    bestEffort(sources.liveTokens()),
  ]);
  const count = sources.lastCount();
  const isFileGone = backup && (await bestEffort(sources.isAbsent(backup.file)));
  const { creates, refusals } = sources.samples.tallies();
  const rates = new Map(
    (liveTokens ?? []).flatMap(({ name, rate }) => (rate ? [[name, rateText(rate)]] : [])),
  );
  return {
    version: sources.version,
    startedAt: isoTime(sources.startedAtMs),
    ...readiness,
    store: {
      location: sources.location,
      wholeLocation: sources.wholeLocation,
      shellLocation: shellQuoted(sources.wholeLocation),
      ...sizes,
      promise: sources.promise()?.says ?? null,
      plants: count?.plants ?? null,
      countedAt: isoTime(count?.atMs),
      createdSince: count === undefined ? null : count.plantsNow - count.plants,
    },
    backup: backup === undefined ? null : backupReply(backup, count, isFileGone ?? false),
    jobs: jobs.map(jobReply),
    configuration: sources.settings,
    creates,
    refusals: problemNames
      .map((name, index) => ({ code: problems[name].code, ...(refusals[index] ?? none) }))
      .filter(({ total }) => total > 0),
    limited: inLastMinute(sources.tokenFigures.refusedFor('rateLimited'), sources.now()).map(
      (client) => ({ ...client, rate: rates.get(client.name) ?? null }),
    ),
    endedInUse: inLastMinute(sources.tokenFigures.refusedFor('tokenInvalid'), sources.now()),
    refusedOnly: refusedOnly(sources.tokenFigures.all(), sources.now()),
    expiringTokens: expiringTokens(liveTokens ?? [], sources.now()),
  };
}

const none = { total: 0, lastMinute: 0 };

/** Newest first. */
function inLastMinute(all: readonly RefusedToken[], nowMs: number): Limited[] {
  const { limitedShown, limitedShownMs } = limits.ops;
  return all
    .filter(({ lastAtMs }) => nowMs - lastAtMs <= limitedShownMs)
    .toSorted((one, other) => other.lastAtMs - one.lastAtMs)
    .slice(0, limitedShown)
    .map(({ name, refused, lastAtMs }) => ({ name, refused, lastAt: isoTime(lastAtMs) }));
}

/** Refusals of revoked and expired tokens stand in `endedInUse`. */
function refusedOnly(all: readonly TokenFigures[], nowMs: number): RefusedOnly[] {
  const { limitedShown, limitedShownMs } = limits.ops;
  return all
    .filter(({ created, same }) => created + same === 0)
    .filter(({ lastUsedAtMs = 0 }) => nowMs - lastUsedAtMs <= limitedShownMs)
    .map(({ name, lastUsedAtMs = 0, refusals }) => {
      const valid = [...refusals]
        .filter(([problem]) => problem !== 'tokenInvalid')
        .toSorted(([, one], [, other]) => other.count - one.count);
      const refused = refusedIn({ refusals: new Map(valid) });
      const codes = valid.map(([problem]) => problems[problem].code);
      return { name, refused, lastAt: isoTime(lastUsedAtMs), codes };
    })
    .filter(({ refused }) => refused > 0)
    .toSorted((one, other) => other.refused - one.refused)
    .slice(0, limitedShown);
}

function expiringTokens(live: readonly TokenRecord[], nowMs: number): ExpiringToken[] {
  return live
    .filter((token) => expiresSoon(token, nowMs))
    .toSorted((one, other) => Number(one.expiresAtMs) - Number(other.expiresAtMs))
    .slice(0, limits.ops.expiringShown)
    .map(({ name, expiresAtMs, lastUsedAtMs, rotatedAtMs }) => ({
      name,
      isRotated: rotatedAtMs !== undefined,
      expiresAt: isoTime(Number(expiresAtMs)),
      lastUsedAt: isoTime(lastUsedAtMs),
    }));
}

function backupReply(backup: BackupRecord, count: Count | undefined, isFileGone: boolean): Backup {
  const { file, finishedAtMs, plants, digest } = backup;
  const missing = missingPlants(backup, count) ?? null;
  const finishedAt = isoTime(finishedAtMs);
  return { file, isFileGone, finishedAt, plants, missingPlants: missing, digest };
}

export function jobReply({ name, fault, ranAtMs, success }: JobRecord): Job {
  return {
    name,
    fault: fault ?? null,
    ranAt: isoTime(ranAtMs),
    succeededAt: isoTime(success?.atMs),
    tookSeconds: success ? success.tookMs / 1_000 : null,
  };
}
