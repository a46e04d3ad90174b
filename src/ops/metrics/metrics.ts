import { problemNames, problems } from '../../contract/problems.ts';
import {
  type Distribution,
  distributionOf,
  plantsBounds,
  secondsBounds,
  sumOf,
} from '../../threads/measures.ts';
import { version } from '../../version.ts';
import type { Figures } from './figures.ts';

/** A number of a metric, and the labels that tell it from the others of the same metric. */
interface Sample {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The figures in the text format of Prometheus
 * (prometheus.io/docs/instrumenting/exposition_formats).
 */
export function metricsText(figures: Figures): string {
  return metricsOf(figures).map(textOf).join('');
}

/**
 * Names and units as Prometheus wants them (prometheus.io/docs/practices/naming). No label takes
 * more values than the code knows.
 */
function metricsOf(figures: Figures): Metric[] {
  const { httpThreads, writers, store, tokens } = figures;
  const total = (name: 'created' | 'same' | 'taken' | 'failed') =>
    sumOf(httpThreads.map((thread) => thread[name]))[0] ?? 0;
  const refusals = sumOf(httpThreads.map((thread) => thread.refusals));
  return [
    gauge('plant_store_info', 'The version that is running.', [{ labels: { version }, value: 1 }]),
    gauge(
      'plant_store_ready',
      'Whether creates are stored now, as in /readyz.',
      figures.ready ? 1 : 0,
    ),
    gauge(
      'plant_store_heartbeat_age_seconds',
      'Time since the start of the last heartbeat that was stored.',
      figures.heartbeatAgeSeconds,
    ),
    counter(
      'plant_store_creates_total',
      'Creates that came to the store, by what became of them.',
      [
        { labels: { outcome: 'created' }, value: total('created') },
        { labels: { outcome: 'same' }, value: total('same') },
        { labels: { outcome: 'taken' }, value: total('taken') },
        { labels: { outcome: 'failed' }, value: total('failed') },
      ],
    ),
    counter(
      'plant_store_refusals_total',
      'Requests that were refused, by the code of the error.',
      problemNames.map((name, index) => ({
        labels: { code: `${problems[name].code}` },
        value: refusals[index] ?? 0,
      })),
    ),
    histogram(
      'plant_store_create_duration_seconds',
      'Time from the head of a create to its outcome.',
      secondsBounds,
      distributionOf(httpThreads.map(({ createSeconds }) => createSeconds)),
    ),
    histogram(
      'plant_store_commit_duration_seconds',
      'Time that a transaction with plants took, with its sync.',
      secondsBounds,
      distributionOf(writers.map(({ commitSeconds }) => commitSeconds)),
    ),
    histogram(
      'plant_store_batch_plants',
      'Plants in a transaction.',
      plantsBounds,
      distributionOf(writers.map(({ batchPlants }) => batchPlants)),
    ),
    ...(figures.databaseConnections === undefined ? [checkpoints(writers)] : []),
    gauge('plant_store_queue_plants', 'Plants that wait to be stored.', figures.queuePlants),
    gauge(
      'plant_store_queue_limit_plants',
      'Plants that may wait to be stored.',
      figures.queuePlantsMax,
    ),
    gauge('plant_store_queue_bytes', 'Memory that waiting plants hold.', figures.queueBytes),
    gauge(
      'plant_store_queue_age_seconds',
      'How long the plant has waited that has waited longest.',
      Math.max(...httpThreads.map(({ queueAgeSeconds }) => queueAgeSeconds[0] ?? 0)),
    ),
    gauge('plant_store_connections', 'Open connections of clients.', figures.connections),
    gauge(
      'plant_store_connections_limit',
      'Connections of clients that may be open.',
      figures.connectionsMax,
    ),
    gauge(
      'plant_store_event_loop_lag_seconds',
      'How late a thread was at most within the last second.',
      [
        { labels: { thread: 'main' }, value: figures.mainLagSeconds },
        ...httpThreads.map(({ eventLoopLagSeconds }, index) => ({
          labels: { thread: `http-${index + 1}` },
          value: eventLoopLagSeconds[0] ?? 0,
        })),
      ],
    ),
    gauge(
      'plant_store_plants',
      'Plants in the store when they were last counted, and those created here since.',
      store.plants,
    ),
    gauge(
      'plant_store_database_bytes',
      'Size of the file of the store, or in a database, of the plants with their indexes.',
      store.plantsBytes,
    ),
    gauge(
      'plant_store_database_connections',
      'Open connections to the database, besides that of a search.',
      figures.databaseConnections,
    ),
    gauge(
      'plant_store_log_bytes',
      'Size of the log of the store: what has not been copied into its file yet.',
      store.logBytes,
    ),
    gauge('plant_store_disk_free_bytes', 'Space that is left for the store.', store.freeBytes),
    gauge(
      'plant_store_disk_low',
      'Whether that is little, as in /readyz and doctor. The service may be ready all the same.',
      store.isSpaceLow === undefined ? undefined : Number(store.isSpaceLow),
    ),
    gauge(
      'plant_store_tokens',
      'Tokens, by their state.',
      tokens &&
        Object.entries(tokens.byState).map(([state, value]) => ({ labels: { state }, value })),
    ),
    gauge(
      'plant_store_tokens_in_use',
      'Valid tokens that have been used within a day.',
      tokens?.inUse,
    ),
    gauge(
      'plant_store_last_backup_age_seconds',
      'Time since the last verified backup.',
      store.backup?.ageSeconds,
    ),
    gauge(
      'plant_store_last_backup_missing_plants',
      'Plants that have come since the last verified backup.',
      store.backup?.missingPlants,
    ),
    gauge(
      'process_resident_memory_bytes',
      'Resident memory of the process.',
      figures.process.residentBytes,
    ),
    counter(
      'process_cpu_seconds_total',
      'CPU time of the process, of the user and of the system.',
      [{ value: figures.process.cpuSeconds }],
    ),
    gauge(
      'process_start_time_seconds',
      'When the process was started, in seconds since the epoch.',
      figures.process.startedSeconds,
    ),
  ];
}

/** A database does them by itself. */
function checkpoints(writers: Figures['writers']): Metric {
  return histogram(
    'plant_store_checkpoint_duration_seconds',
    'Time that copying the log into the file of the store took.',
    secondsBounds,
    distributionOf(writers.map(({ checkpointSeconds }) => checkpointSeconds)),
  );
}

/** One without a value is left out. */
function gauge(name: string, help: string, value: number | undefined | readonly Sample[]): Metric {
  const samples = typeof value === 'object' ? value : value === undefined ? [] : [{ value }];
  return { name, type: 'gauge', help, samples };
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: 'counter', help, samples };
}

function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  { sum, count, classes }: Distribution,
): Metric {
  let below = 0;
  const buckets = bounds.map((bound, index): Sample => {
    below += classes[index] ?? 0;
    return { suffix: '_bucket', labels: { le: `${bound}` }, value: below };
  });
  const ends: Sample[] = [
    { suffix: '_bucket', labels: { le: '+Inf' }, value: count },
    { suffix: '_sum', value: sum },
    { suffix: '_count', value: count },
  ];
  return { name, type: 'histogram', help, samples: [...buckets, ...ends] };
}

function textOf({ name, type, help, samples }: Metric): string {
  if (samples.length === 0) return '';
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
