import { useState } from 'preact/hooks';
import { type Api, ApiError, type Backup, type Overview, type StoreState } from './api.ts';
import { Chart, type ChartProps } from './chart.ts';
import { count, sizeText } from './format.ts';
import { html } from './html.ts';
import { Facts, Failure, When } from './parts.ts';
import { useSamples } from './samples.ts';

const charts: readonly Pick<ChartProps, 'title' | 'unit' | 'lines'>[] = [
  {
    title: 'Creates',
    unit: 'per second',
    lines: [
      { label: 'stored', pick: (sample) => sample.createsPerSecond, colour: '--line-1' },
      { label: 'refused', pick: (sample) => sample.refusalsPerSecond, colour: '--line-bad' },
    ],
  },
  {
    title: 'Latency',
    unit: 'ms',
    lines: [
      { label: 'p50', pick: (sample) => sample.p50Ms, colour: '--line-1' },
      { label: 'p99', pick: (sample) => sample.p99Ms, colour: '--line-2' },
    ],
  },
  { title: 'Batch', unit: 'plants in a transaction', lines: [{ label: 'mean', pick: (sample) => sample.batchPlants, colour: '--line-1' }] },
  { title: 'Queue', unit: 'plants that wait', lines: [{ label: 'waiting', pick: (sample) => sample.queuePlants, colour: '--line-1' }] },
];

const spansMinutes = [5, 15];

interface OverviewProps {
  readonly api: Api;
  readonly overview: Overview | undefined;
  /** Whether a newer one was asked for in vain. */
  readonly isOld: boolean;
}

/** How the service does now, and did in the last minutes. */
export function OverviewPage({ api, overview, isOld }: OverviewProps) {
  const { answer: samples = [], error } = useSamples(api);
  const [spanMinutes, setSpanMinutes] = useState(5);
  return html`
    <fieldset class="beside choice">
      <legend class="unseen">Time shown</legend>
      ${spansMinutes.map(
        (minutes) => html`
          <label><input type="radio" name="span" checked=${minutes === spanMinutes} onChange=${() => setSpanMinutes(minutes)} />
            <span>${minutes} min</span></label>`,
      )}
    </fieldset>
    <${Failure} error=${error instanceof ApiError && !isOld ? error : undefined} />
    <div class="grid">
      ${charts.map((chart) => html`<${Chart} key=${chart.title} ...${chart} samples=${samples} spanMinutes=${spanMinutes} />`)}
    </div>
    ${overview && html`<${Cards} overview=${overview} isOld=${isOld} />`}`;
}

function Cards({ overview: { checks, store, backup, version, startedAt }, isOld }: { overview: Overview; isOld: boolean }) {
  const readiness = checks.map(({ name, ok, says }) => [
    html`<span class="badge ${ok ? 'good' : 'bad'}">${ok ? 'ok' : 'failing'}</span> ${name}`,
    says,
  ]);
  const plants = store.plants === null ? 'being counted' : html`${count(store.plants)} <${Counted} at=${store.countedAt} />`;
  const sizes = [
    ['Place', html`<code>${store.location}</code>`],
    ['Plants', plants],
    ...size(store.logBytes === undefined ? 'Size' : 'File', store.plantsBytes),
    ...size('Log', store.logBytes),
    ...size('Free on the disk', store.freeBytes),
    ...(store.promise === null ? [] : [['A 200 means', store.promise]]),
  ];
  return html`
    <div class="grid">
      <section class="card"><h2>Readiness</h2>
        ${isOld ? html`<p class="quiet">Not known at the moment</p>` : html`<${Facts} facts=${readiness} />`}</section>
      <section class="card"><h2>Store</h2><${Facts} facts=${sizes} /></section>
      <section class="card"><h2>Backup</h2><${BackupState} backup=${backup} store=${store} /></section>
      <section class="card"><h2>Service</h2><${Facts} facts=${[['Version', version], ['Started', html`<${When} time=${startedAt} />`]]} /></section>
    </div>`;
}

function size(name: string, value: number | undefined) {
  return value === undefined ? [] : [[name, sizeText(value)]];
}

function Counted({ at }: { at: string | null }) {
  return at !== null && html`<span class="quiet">at <${When} time=${at} /></span>`;
}

/** After it a backup counts as old; `plant-store doctor` has the same limit. */
const oldMs = 7 * 24 * 3_600_000;

function BackupState({ backup, store }: { backup: Backup | null; store: StoreState }) {
  if (backup === null && store.logBytes === undefined)
    return html`<p>There is none that this store knows of; it does not see those of the database. This makes one:</p>${backupCommand(store)}`;
  if (backup === null)
    return html`<p><span class="badge bad">none</span> This store has no verified backup. This makes one:</p>${backupCommand(store)}`;
  const isOld = Date.now() - Date.parse(backup.finishedAt) > oldMs;
  const since = store.plants === null ? html`<span class="quiet">being counted</span>` : count(Math.max(0, store.plants - backup.plants));
  const facts = [
    ['Last verified', html`<${When} time=${backup.finishedAt} /> ${isOld && html`<span class="badge bad">old</span>`}`],
    ['Plants in it', count(backup.plants)],
    ['Plants since', since],
    ['File', html`<code>${backup.file}</code>`],
    ['Digest', html`<code>${backup.digest}</code>`],
  ];
  return html`<${Facts} facts=${facts} />${isOld && backupCommand(store)}`;
}

function backupCommand({ location }: StoreState) {
  return html`<pre tabindex="0"><code>plant-store backup /var/backups --store ${location}</code></pre>`;
}
