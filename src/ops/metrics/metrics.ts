import { isUsedSinceRotation } from '../../access/opaque-tokens.ts';
import { problemNames, problems } from '../../contract/problems.ts';
import { listedTokenName, type TokenRecord } from '../../store/tokens.ts';
import { distributionOf, plantsBounds, secondsBounds, sumOf } from '../../threads/measures.ts';
import { version } from '../../version.ts';
import type { Figures } from './figures.ts';
import { createsOf } from './samples.ts';

/** One line: a value, with the labels that tell it from others of the metric. */
interface Line {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly lines: readonly Line[];
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** The known figures as text (prometheus.io/docs/instrumenting/exposition_formats). */
export function metricsText(figures: Figures): string {
  return metrics(figures).map(textOf).join('');
}

/** The values of each label are bounded in number (prometheus.io/docs/practices/naming). */
function metrics(figures: Figures): Metric[] {
  return [
    gauge('plant_store_info', 'Version of the service.', byLabel('version', { [version]: 1 })),
    gauge(
      'plant_store_ready',
      'Whether creates are stored now, as in /readyz.',
      Number(figures.ready),
    ),
    gauge(
      'plant_store_heartbeat_age_seconds',
      'Time since the start of the last heartbeat that was stored.',
      figures.heartbeatAgeMs === undefined ? undefined : figures.heartbeatAgeMs / 1_000,
    ),
    gauge(
      'plant_store_certificate_expires_seconds',
      'End of the TLS certificate in force, in seconds since the epoch.',
      byLabel('listener', figures.certificatesExpire),
    ),
    gauge(
      'plant_store_issuer_keys_read_seconds',
      'Oldest of the last reads of keys, over identity providers and threads, in seconds since the epoch; 0 for never.',
      figures.issuerKeysReadSeconds,
    ),
    ...work(figures),
    ...load(figures),
    ...store(figures),
    gauge(
      'process_resident_memory_bytes',
      'Resident memory of the process.',
      figures.residentBytes,
    ),
    counter('process_cpu_seconds_total', 'User and system CPU time of the process.', [
      { value: figures.cpuSeconds },
    ]),
    gauge(
      'process_start_time_seconds',
      'Start of the process, in seconds since the epoch.',
      performance.timeOrigin / 1_000,
    ),
  ];
}

/** Requests and transactions since the start. */
function work(figures: Figures): Metric[] {
  const { httpThreads, writers, databaseConnections } = figures;
  const refusals = sumOf(httpThreads.map((thread) => thread.refusals));
  const codes = problemNames.map((name, index) => [problems[name].code, refusals[index] ?? 0]);
  const checkpoints = histogram(
    'plant_store_checkpoint_duration_seconds',
    'Duration of copying the WAL into the file of the store.',
    secondsBounds,
    writers.map(({ checkpointSeconds }) => checkpointSeconds),
  );
  return [
    counter(
      'plant_store_creates_total',
      'Creates that reached the store, by outcome.',
      byLabel('outcome', {
        created: createsOf(httpThreads, 'created'),
        same: createsOf(httpThreads, 'same'),
        taken: createsOf(httpThreads, 'taken'),
        failed: createsOf(httpThreads, 'failed'),
      }),
    ),
    counter(
      'plant_store_refusals_total',
      'Refused requests, by the code of the error.',
      byLabel('code', Object.fromEntries(codes)),
    ),
    counter(
      'plant_store_rate_limited_total',
      'Creates that were refused because they were beyond the rate of their token, by token.',
      figures.tokenFigures.refusedFor('rateLimited').map(({ name, refused }) => ({
        labels: { token: name },
        value: refused,
      })),
    ),
    ...byToken(figures),
    histogram(
      'plant_store_create_duration_seconds',
      'Time from the head of a create to its outcome.',
      secondsBounds,
      httpThreads.map(({ createSeconds }) => createSeconds),
    ),
    histogram(
      'plant_store_commit_duration_seconds',
      'Duration of a transaction with plants, including its sync.',
      secondsBounds,
      writers.map(({ commitSeconds }) => commitSeconds),
    ),
    histogram(
      'plant_store_batch_plants',
      'Plants in a transaction.',
      plantsBounds,
      writers.map(({ batchPlants }) => batchPlants),
    ),
    counter(
      'plant_store_log_lines_dropped_total',
      'Lines of the log that were dropped, because standard error took none.',
      [{ value: figures.droppedLogLines }],
    ),
    // A database makes its checkpoints itself.
    ...(databaseConnections === undefined ? [checkpoints] : []),
  ];
}

/** Bounded in number by `limits.ops.tokenFiguresMax`, and by the tokens in force. */
function byToken({ tokenFigures, liveTokens = [] }: Figures): Metric[] {
  const all = tokenFigures.all();
  const outcomes = ['created', 'same', 'taken', 'failed'] as const;
  const named = liveTokens.map((token) => ({ ...token, name: listedTokenName(token.name) }));
  const lastUses = new Map<string, number>();
  for (const { name, lastUsedAtMs = 0 } of [...named, ...all])
    lastUses.set(name, Math.max(lastUses.get(name) ?? 0, lastUsedAtMs / 1_000));
  const expiries = named.flatMap(({ name, expiresAtMs, rotatedAtMs }) =>
    expiresAtMs === undefined || rotatedAtMs !== undefined
      ? []
      : [[name, expiresAtMs / 1_000] as const],
  );
  return [
    counter(
      'plant_store_token_creates_total',
      'Creates that reached the store, by token and outcome.',
      all.flatMap((figures) =>
        outcomes.map((outcome) => ({
          labels: { token: figures.name, outcome },
          value: figures[outcome],
        })),
      ),
    ),
    counter(
      'plant_store_token_refusals_total',
      'Refused requests with a token of the store, also a revoked or expired one, by token and the code of the error.',
      all.flatMap(({ name, refusals }) =>
        [...refusals].map(([problem, { count }]) => ({
          labels: { token: name, code: `${problems[problem].code}` },
          value: count,
        })),
      ),
    ),
    gauge(
      'plant_store_token_last_used_seconds',
      'Last known use of a token, in seconds since the epoch.',
      byLabel('token', Object.fromEntries([...lastUses].filter(([, seconds]) => seconds > 0))),
    ),
    gauge(
      'plant_store_token_expires_seconds',
      'End of a token that is in force and expires, in seconds since the epoch.',
      byLabel('token', Object.fromEntries(expiries)),
    ),
    ...oldSecrets(named),
  ];
}

/** A name has one old secret in force at most. */
function oldSecrets(tokens: readonly TokenRecord[]): Metric[] {
  const used = tokens.filter(isUsedSinceRotation);
  const secondsOf = (time: 'expiresAtMs' | 'lastUsedAtMs') =>
    byLabel('token', Object.fromEntries(used.map((one) => [one.name, (one[time] ?? 0) / 1_000])));
  return [
    gauge(
      'plant_store_token_old_secret_expires_seconds',
      'End of an old secret that was used after its rotation, in seconds since the epoch.',
      secondsOf('expiresAtMs'),
    ),
    gauge(
      'plant_store_token_old_secret_last_used_seconds',
      'Last known use of such an old secret, in seconds since the epoch.',
      secondsOf('lastUsedAtMs'),
    ),
  ];
}

/** What waits and what is open, with the limits. */
function load({ httpThreads, mainLagSeconds, ...figures }: Figures): Metric[] {
  const ages = httpThreads.map(({ queueAgeSeconds }) => queueAgeSeconds[0] ?? 0);
  const lags = httpThreads.map(
    ({ eventLoopLagSeconds }, index) => [`http-${index + 1}`, eventLoopLagSeconds[0] ?? 0] as const,
  );
  return [
    gauge('plant_store_queue_plants', 'Plants that wait to be stored.', figures.queuePlants),
    gauge(
      'plant_store_queue_limit_plants',
      'Largest number of plants that may wait to be stored.',
      figures.queuePlantsMax,
    ),
    gauge('plant_store_queue_bytes', 'Memory of the plants that wait.', figures.queueBytes),
    gauge(
      'plant_store_queue_age_seconds',
      'Longest time that a plant has waited so far.',
      Math.max(...ages),
    ),
    gauge('plant_store_connections', 'Open connections of clients.', figures.connections),
    gauge(
      'plant_store_connections_limit',
      'Largest number of open connections of clients.',
      figures.connectionsMax,
    ),
    gauge(
      'plant_store_event_loop_lag_seconds',
      'Longest delay of the event loop of a thread within the last second.',
      byLabel('thread', { main: mainLagSeconds, ...Object.fromEntries(lags) }),
    ),
  ];
}

function store({
  plants,
  sizes,
  databaseConnections,
  tokens,
  backup,
  backupFailed,
}: Figures): Metric[] {
  return [
    gauge(
      'plant_store_plants',
      'Plants in the store at the last count, and plants created here since.',
      plants,
    ),
    gauge(
      'plant_store_database_bytes',
      'Size of the file of the store, or of the table of plants with its indexes.',
      sizes?.plantsBytes,
    ),
    gauge(
      'plant_store_database_connections',
      'Open connections to the database, without that of a search.',
      databaseConnections,
    ),
    gauge('plant_store_log_bytes', 'Size of the WAL of the store.', sizes?.logBytes),
    gauge('plant_store_disk_free_bytes', 'Free space for the store.', sizes?.freeBytes),
    gauge(
      'plant_store_disk_low',
      'Whether free space is low, as in /readyz and doctor. The service may still be ready.',
      sizes?.isSpaceLow === undefined ? undefined : Number(sizes.isSpaceLow),
    ),
    gauge('plant_store_tokens', 'Tokens, by state.', tokens && byLabel('state', tokens.byState)),
    gauge('plant_store_tokens_in_use', 'Valid tokens that were used within a day.', tokens?.inUse),
    gauge(
      'plant_store_last_backup_age_seconds',
      'Time since the last verified backup; negative if the backup is in the future.',
      backup?.ageSeconds,
    ),
    gauge(
      'plant_store_last_backup_missing_plants',
      'Plants that are newer than the last verified backup.',
      backup?.missingPlants,
    ),
    gauge(
      'plant_store_backup_failed',
      'Whether the last backup of --backup-to has failed.',
      backupFailed === undefined ? undefined : Number(backupFailed),
    ),
  ];
}

function byLabel(label: string, values: Readonly<Record<string, number>>): Line[] {
  return Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
}

/** Without lines if the value is undefined. */
function gauge(name: string, help: string, value: number | undefined | readonly Line[]): Metric {
  const lines = typeof value === 'object' ? value : value === undefined ? [] : [{ value }];
  return { name, type: 'gauge', help, lines };
}

function counter(name: string, help: string, lines: readonly Line[]): Metric {
  return { name, type: 'counter', help, lines };
}

function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  ofThreads: readonly Float64Array[],
): Metric {
  const { sum, count, classes } = distributionOf(ofThreads);
  let below = 0;
  const buckets = bounds.map((bound, index): Line => {
    below += classes[index] ?? 0;
    return { suffix: '_bucket', labels: { le: `${bound}` }, value: below };
  });
  const ends: Line[] = [
    { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
    { suffix: '_sum', value: sum },
    { suffix: '_count', value: count },
  ];
  return { name, type: 'histogram', help, lines: [...buckets, ...ends] };
}

function textOf({ name, type, help, lines }: Metric): string {
  if (lines.length === 0) return '';
  const values = lines.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.join('\n')}\n`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
