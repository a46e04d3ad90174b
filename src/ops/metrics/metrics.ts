import { problemNames, problems } from '../../contract/problems.ts';
import { version } from '../../program.ts';
import { dayMs } from '../../quantity-text.ts';
import type { SharedStore } from '../../store/store.ts';
import type { BackupRecord } from '../../store/tables/tables.ts';
import type { TokenRecord } from '../../store/tables/tokens.ts';
import {
  distributionOf,
  type httpThreadLayout,
  type Measures,
  plantsBounds,
  secondsBounds,
  sumOf,
  type writerLayout,
} from '../../threads/measures.ts';
import { isUsedSinceRotation } from '../../tokens/opaque-tokens.ts';
import { outcomes } from '../../tokens/tally.ts';
import type { Backup, LastRun, StoreSizes } from '../contract.ts';
import type { Health } from '../health/health.ts';
import { bestEffort } from '../loading.ts';
import type { TokenFigureTable } from '../token-figures.ts';
import { missingPlants } from './plant-count.ts';
import { byOutcome, createsOf } from './samples.ts';

/** Whether its file is gone is known of a backup on this machine. */
export type LastBackup = BackupRecord & Pick<Backup, 'isFileGone'>;

export interface StoreSources {
  readonly sizes: () => Promise<StoreSizes>;
  readonly lastBackup: () => Promise<LastBackup | undefined>;
  /** Null: this service has made no backup. */
  readonly lastRun: () => LastRun | null;
  readonly plants: () => number | undefined;
  readonly health: Health;
  /** The tokens in force. */
  readonly liveTokens: () => Promise<readonly TokenRecord[]>;
  readonly tokenFigures: TokenFigureTable;
}

export interface MetricSources extends StoreSources {
  readonly httpThreads: readonly Measures<typeof httpThreadLayout>[];
  readonly writers: readonly Measures<typeof writerLayout>[];
  readonly queuePlantsMax: number;
  readonly connectionsMax: number;
  readonly store: SharedStore;
  readonly heartbeatAgeMs: () => number | undefined;
  readonly queuePlants: () => number;
  readonly queueBytes: () => number;
  readonly connections: () => number;
  readonly mainLagSeconds: () => number;
  /** Seconds since the epoch, by listener. */
  readonly certificatesExpire: () => Readonly<Record<string, number>>;
  /** Seconds since the epoch; 0 for never. Undefined without identity providers. */
  readonly issuerKeysReadSeconds: () => number | undefined;
  readonly droppedLogLines: () => number;
}

/** One line: a value, with the labels that tell it from others of the metric. */
interface Line {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What each metric means. A name that ends with `_total` is that of a counter. */
const help = {
  plant_store_info: 'Version of the service, and identity of its store.',
  plant_store_ready: 'Whether creates are stored now, as in /readyz.',
  plant_store_promised_disks: 'Disks that have each plant before its 200; 0: a crash may take it.',
  plant_store_heartbeat_age_seconds: 'Time since the start of the last heartbeat that was stored.',
  plant_store_certificate_expires_seconds:
    'End of the TLS certificate in force, in seconds since the epoch.',
  plant_store_issuer_keys_read_seconds:
    'Time of the oldest read of keys that is in force, in seconds since the epoch; 0: never.',
  process_resident_memory_bytes: 'Resident memory of the process.',
  process_cpu_seconds_total: 'User and system CPU time of the process.',
  process_start_time_seconds: 'Start of the process, in seconds since the epoch.',
  plant_store_checkpoint_duration_seconds:
    'Duration of copying the WAL into the file of the store.',
  plant_store_creates_total: 'Creates that reached the store, by outcome.',
  plant_store_refusals_total: 'Refused requests, by the code of the error.',
  plant_store_create_duration_seconds: 'Time from the head of a create to its outcome.',
  plant_store_commit_duration_seconds: 'Duration of a transaction with plants, including its sync.',
  plant_store_batch_plants: 'Plants in a transaction.',
  plant_store_log_lines_dropped_total:
    'Lines of the log that were dropped, because standard error took none.',
  plant_store_token_creates_total: 'Creates that reached the store, by token and outcome.',
  plant_store_token_refusals_total:
    'Refused requests by token, also a revoked or expired one, and the code of the error.',
  plant_store_token_last_used_seconds: 'Last known use of a token, in seconds since the epoch.',
  plant_store_token_expires_seconds:
    'End of a token that is in force and expires, in seconds since the epoch.',
  plant_store_token_old_secret_expires_seconds:
    'End of an old secret that was used after its rotation, in seconds since the epoch.',
  plant_store_token_old_secret_last_used_seconds:
    'Last known use of such an old secret, in seconds since the epoch.',
  plant_store_queue_plants: 'Plants that wait to be stored.',
  plant_store_queue_limit_plants: 'Largest number of plants that may wait to be stored.',
  plant_store_queue_bytes: 'Memory of the plants that wait.',
  plant_store_queue_age_seconds: 'Longest time that a plant has waited so far.',
  plant_store_connections: 'Open connections of clients.',
  plant_store_connections_limit: 'Largest number of open connections of clients.',
  plant_store_event_loop_lag_seconds:
    'Longest delay of the event loop of a thread within the last second.',
  plant_store_plants: 'Plants in the store at the last count, and plants created here since.',
  plant_store_plants_lost:
    'Whether a backup in --backup-to has plants that the store lacks, and that are not given up.',
  plant_store_decided_seconds:
    'Last restore of the store, or last decision with --new-store yes, in seconds since the epoch.',
  plant_store_database_bytes:
    'Size of the file of the store, or of the table of plants with its indexes.',
  plant_store_database_connections:
    'Open connections to the database, without the connection of a search.',
  plant_store_log_bytes: 'Size of the WAL of the store.',
  plant_store_disk_free_bytes: 'Free space for the store.',
  plant_store_disk_low:
    'Whether free space is low, as in /readyz and doctor. The service may still be ready.',
  plant_store_tokens: 'Tokens, by state.',
  plant_store_tokens_in_use: 'Valid tokens that were used within a day.',
  plant_store_last_backup_age_seconds:
    'Time since the last verified backup; negative if the backup is in the future.',
  plant_store_last_backup_missing_plants: 'Plants that are newer than the last verified backup.',
  plant_store_backup_failed: 'Whether the last backup of --backup-to has failed.',
} as const;

/** 1 for true. A metric without a value, or without lines, is left out. */
type Value = number | boolean | undefined | readonly Line[];

type Values = Partial<Readonly<Record<keyof typeof help, Value>>>;

/** prometheus.io/docs/instrumenting/exposition_formats */
export async function metricsText(sources: MetricSources): Promise<string> {
  const [ofStore, liveTokens] = await Promise.all([
    storeValues(sources),
    bestEffort(sources.liveTokens()),
  ]);
  const values: Values = {
    ...processValues(sources),
    ...createValues(sources),
    ...tokenValues(sources.tokenFigures, liveTokens),
    ...loadValues(sources),
    ...ofStore,
  };
  return (Object.keys(help) as (keyof Values)[]).map((name) => textOf(name, values[name])).join('');
}

function processValues(sources: MetricSources): Values {
  const { user, system } = process.cpuUsage();
  const heartbeatAgeMs = sources.heartbeatAgeMs();
  return {
    plant_store_heartbeat_age_seconds: heartbeatAgeMs && heartbeatAgeMs / 1_000,
    plant_store_certificate_expires_seconds: byLabel('listener', sources.certificatesExpire()),
    plant_store_issuer_keys_read_seconds: sources.issuerKeysReadSeconds(),
    plant_store_log_lines_dropped_total: sources.droppedLogLines(),
    process_resident_memory_bytes: process.memoryUsage.rss(),
    process_cpu_seconds_total: (user + system) / 1e6,
    process_start_time_seconds: performance.timeOrigin / 1_000,
  };
}

function createValues({ httpThreads, writers, store }: MetricSources): Values {
  const refusals = sumOf(httpThreads.map((thread) => thread.refusals));
  const codes = problemNames.map((name, index) => [problems[name].code, refusals[index] ?? 0]);
  const seconds = (ofThreads: readonly Float64Array[]) => histogram(secondsBounds, ofThreads);
  return {
    plant_store_creates_total: byLabel(
      'outcome',
      byOutcome((outcome) => createsOf(httpThreads, outcome)),
    ),
    plant_store_refusals_total: byLabel('code', Object.fromEntries(codes)),
    plant_store_create_duration_seconds: seconds(httpThreads.map((one) => one.createSeconds)),
    plant_store_commit_duration_seconds: seconds(writers.map((one) => one.commitSeconds)),
    plant_store_batch_plants: histogram(
      plantsBounds,
      writers.map((one) => one.batchPlants),
    ),
    // A database makes its checkpoints itself.
    plant_store_checkpoint_duration_seconds:
      store.metrics.connections() === undefined
        ? seconds(writers.map((one) => one.checkpointSeconds))
        : undefined,
  };
}

/** Bounded in number by `limits.ops.tokenFiguresMax`, and by the tokens in force. */
function tokenValues(
  tokenFigures: TokenFigureTable,
  liveTokens: readonly TokenRecord[] = [],
): Values {
  const all = tokenFigures.all();
  const lastUses = new Map<string, number>();
  for (const { name, lastUsedAtMs = 0 } of [...liveTokens, ...all])
    lastUses.set(name, Math.max(lastUses.get(name) ?? 0, lastUsedAtMs));
  const used = [...lastUses].map(([name, lastUsedAtMs]) => ({ name, lastUsedAtMs }));
  // A name has one old secret in force at most.
  const old = liveTokens.filter(isUsedSinceRotation);
  return {
    plant_store_token_creates_total: all.flatMap(({ name: token, ...figures }) =>
      outcomes.map((outcome) => ({ labels: { token, outcome }, value: figures[outcome] })),
    ),
    plant_store_token_refusals_total: all.flatMap(({ name: token, refusals }) =>
      [...refusals].map(([problem, { count }]) => ({
        labels: { token, code: `${problems[problem].code}` },
        value: count,
      })),
    ),
    plant_store_token_last_used_seconds: timesOf(used, 'lastUsedAtMs'),
    plant_store_token_expires_seconds: timesOf(
      liveTokens.filter(({ rotatedAtMs }) => rotatedAtMs === undefined),
      'expiresAtMs',
    ),
    plant_store_token_old_secret_expires_seconds: timesOf(old, 'expiresAtMs'),
    plant_store_token_old_secret_last_used_seconds: timesOf(old, 'lastUsedAtMs'),
  };
}

/** In seconds, by token, of those that have the time. */
function timesOf<Name extends 'expiresAtMs' | 'lastUsedAtMs'>(
  tokens: readonly ({ readonly name: string } & { readonly [_ in Name]: number | undefined })[],
  time: Name,
): Line[] {
  return tokens.flatMap(({ name: token, [time]: atMs }) =>
    atMs ? [{ labels: { token }, value: atMs / 1_000 }] : [],
  );
}

function loadValues({ httpThreads, ...sources }: MetricSources): Values {
  const ages = httpThreads.map(({ queueAgeSeconds }) => queueAgeSeconds[0] ?? 0);
  const lags = httpThreads.map(
    ({ eventLoopLagSeconds }, index) => [`http-${index + 1}`, eventLoopLagSeconds[0] ?? 0] as const,
  );
  return {
    plant_store_queue_plants: sources.queuePlants(),
    plant_store_queue_limit_plants: sources.queuePlantsMax,
    plant_store_queue_bytes: sources.queueBytes(),
    plant_store_queue_age_seconds: Math.max(...ages),
    plant_store_connections: sources.connections(),
    plant_store_connections_limit: sources.connectionsMax,
    plant_store_event_loop_lag_seconds: byLabel('thread', {
      main: sources.mainLagSeconds(),
      ...Object.fromEntries(lags),
    }),
  };
}

/** Without what the store does not report now. */
async function storeValues({ store, ...sources }: MetricSources): Promise<Values> {
  const nowMs = Date.now();
  const [{ ready, checks }, sizes, backup, tokens, identity] = await Promise.all([
    sources.health.check(),
    bestEffort(sources.sizes()),
    bestEffort(sources.lastBackup()),
    bestEffort(store.countTokens(nowMs, nowMs - dayMs)),
    bestEffort(store.identity()),
  ]);
  const plants = sources.plants();
  const lastRun = sources.lastRun();
  // Missing without a folder for backups.
  const ofPlants = checks.find(({ name }) => name === 'plants');
  return {
    plant_store_info: [{ labels: { version, identity: identity?.identity ?? '' }, value: 1 }],
    plant_store_ready: ready,
    plant_store_plants: plants,
    plant_store_plants_lost: ofPlants && ofPlants.level === 'warning',
    plant_store_decided_seconds: identity?.decidedAtMs && identity.decidedAtMs / 1_000,
    plant_store_database_bytes: sizes?.plantsBytes,
    plant_store_promised_disks: store.durability()?.disks,
    plant_store_database_connections: store.metrics.connections(),
    plant_store_log_bytes: sizes?.logBytes,
    plant_store_disk_free_bytes: sizes?.freeBytes,
    plant_store_disk_low: sizes?.isSpaceLow,
    plant_store_tokens: tokens && byLabel('state', tokens.byState),
    plant_store_tokens_in_use: tokens?.inUse,
    // Negative after the clock was set back, of which an alert warns.
    plant_store_last_backup_age_seconds: backup && (Date.now() - backup.finishedAtMs) / 1_000,
    plant_store_last_backup_missing_plants: backup && missingPlants(backup, plants),
    plant_store_backup_failed: lastRun ? lastRun.fault !== null : undefined,
  };
}

function byLabel(label: string, values: Readonly<Record<string, number>>): Line[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}

function histogram(bounds: readonly number[], ofThreads: readonly Float64Array[]): Line[] {
  const { sum, count, classes } = distributionOf(ofThreads);
  let below = 0;
  const buckets = bounds.map((bound, index): Line => {
    below += classes[index] ?? 0;
    return { suffix: '_bucket', labels: { le: `${bound}` }, value: below };
  });
  return [
    ...buckets,
    { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
    { suffix: '_sum', value: sum },
    { suffix: '_count', value: count },
  ];
}

function textOf(name: keyof Values, value: Value = []): string {
  const lines: readonly Line[] = typeof value === 'object' ? value : [{ value: Number(value) }];
  if (lines.length === 0) return '';
  const simple = name.endsWith('_total') ? 'counter' : 'gauge';
  const type = lines[0]?.suffix === undefined ? simple : 'histogram';
  const texts = lines.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}`,
  );
  return `# HELP ${name} ${help[name]}\n# TYPE ${name} ${type}\n${texts.join('\n')}\n`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
