import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { sizeText } from '../../../size-text.ts';
import type { Crash, Job, Minute, Overview } from '../../contract.ts';
import { growthIn, growthText } from '../../history-figures.ts';
import { type Api, ApiError } from './api.ts';
import { Attention, isBackupOld } from './attention.ts';
import { Chart, type ChartProps } from './chart.ts';
import { Facts, Failure, Skeleton, When } from './components.ts';
import { Day } from './day.ts';
import { count, lengthText } from './format.ts';
import { html } from './html.ts';
import { jobTexts } from './jobs.ts';
import { Outcomes, RefusedCodes } from './outcomes.ts';
import { replaceQuery } from './router.ts';
import {
  noMinutes,
  type Span,
  sampleOf,
  spans,
  useHistory,
  useSamples,
  withBegun,
} from './samples.ts';

const charts: readonly Pick<ChartProps, 'title' | 'unit' | 'lines'>[] = [
  {
    title: 'Creates',
    unit: 'per second',
    lines: [
      { label: 'stored', field: 'createdPerSecond', colour: '--line-1' },
      { label: 'same', field: 'samePerSecond', colour: '--line-2' },
    ],
  },
  {
    title: 'Not stored',
    unit: 'per second',
    lines: [
      { label: 'failed', field: 'failedPerSecond', colour: '--line-bad' },
      { label: 'id taken', field: 'takenPerSecond', colour: '--line-2' },
      { label: 'other refusals', field: 'refusedPerSecond', colour: '--line-3' },
    ],
  },
  {
    title: 'Latency',
    unit: 'ms',
    lines: [
      { label: 'p50', field: 'p50Ms', colour: '--line-1' },
      { label: 'p99', field: 'p99Ms', colour: '--line-2' },
    ],
  },
  {
    title: 'Batch',
    unit: 'plants in a transaction',
    lines: [{ label: 'mean', field: 'batchPlants', colour: '--line-1' }],
  },
  {
    title: 'Queue',
    unit: 'plants that wait',
    lines: [{ label: 'waiting', field: 'queuePlants', colour: '--line-1' }],
  },
  {
    title: 'Connections',
    unit: 'of clients',
    lines: [{ label: 'open', field: 'connections', colour: '--line-1' }],
  },
];

interface OverviewProps {
  readonly api: Api;
  readonly query: URLSearchParams;
  readonly overview: Overview | undefined;
  readonly answeredAtMs: number | undefined;
  /** Whether a newer overview is late. */
  readonly isStale: boolean;
}

export function OverviewPage({ api, query, overview, answeredAtMs, isStale }: OverviewProps) {
  const now = useSamples(api);
  const history = useHistory(api);
  const [span, setSpan] = useSpan(query);
  const minutes = history.answer?.minutes ?? noMinutes;
  const counted = useMemo(() => withBegun(history.answer), [history.answer]);
  const { isHistory } = span;
  const { error } = isHistory ? history : now;
  const areOld = isHistory ? history.isStale : now.isStale;
  const day = useMemo(() => minutes.map(sampleOf), [minutes]);
  const starts = useMemo(() => startsOf(minutes), [minutes]);
  const samples = isHistory ? day : (now.answer ?? []);
  const choice = html`
    <fieldset class="beside choice">
      <legend class="unseen">Time shown</legend>
      ${spans.map(
        (one) => html`
          <label><input type="radio" name="span" checked=${one.id === span.id} onChange=${() => setSpan(one)} />
            <span>${one.title}</span></label>`,
      )}
    </fieldset>`;
  const failure = html`<${Failure} error=${error instanceof ApiError && !isStale ? error : undefined} />`;
  // What needs attention comes first, and would move all that is shown before.
  if (!overview) return html`${choice}${failure}<${Skeleton} rows=${8} />`;
  return html`
    ${choice}
    ${!isStale && html`<${Attention} overview=${overview} minutes=${counted} crashes=${history.answer?.crashes ?? noCrashes} />`}
    <${Day} minutes=${counted} />
    ${failure}
    <div class="grid charts">
      ${charts.map((chart) => !(isHistory && chart.title === 'Batch') && html`<${Chart} key=${chart.title} ...${chart} samples=${samples} span=${span} starts=${isHistory ? starts : noStarts} isStale=${areOld} />`)}
    </div>
    ${isStale && answeredAtMs !== undefined && html`<p class="note">The figures below are as of <${When} time=${new Date(answeredAtMs).toISOString()} />.</p>`}
    <${Cards} overview=${overview} minutes=${counted} isStale=${isStale} />`;
}

const noCrashes: readonly Crash[] = [];

const noStarts: ReadonlySet<number> = new Set();

function startsOf(minutes: readonly Minute[]): ReadonlySet<number> {
  return new Set(minutes.filter(({ hasStart }) => hasStart).map(({ atMs }) => atMs));
}

/** The address of the page has the span, for links. */
function useSpan(query: URLSearchParams) {
  const [span, setSpan] = useState(() => spanFrom(query));
  useLayoutEffect(() => setSpan(spanFrom(query)), [query]);
  const change = (to: Span) => {
    setSpan(to);
    replaceQuery(to.id === spans[0].id ? {} : { span: to.id });
  };
  return [span, change] as const;
}

function spanFrom(query: URLSearchParams): Span {
  return spans.find(({ id }) => id === query.get('span')) ?? spans[0];
}

const badgeOf = {
  ok: ['good', 'ok'],
  warning: ['changed', 'warning'],
  error: ['bad', 'failing'],
} as const;

interface CardsProps {
  readonly overview: Overview;
  readonly minutes: readonly Minute[];
  readonly isStale: boolean;
}

function Cards({ overview, minutes, isStale }: CardsProps) {
  const { checks, store, backup, jobs, version, startedAt, configuration } = overview;
  const readiness = checks.map(({ name, level, says }) => {
    const [tone, text] = badgeOf[level];
    return [name, html`<span class="badge ${tone}">${text}</span> ${says}`];
  });
  const plants =
    store.plants === null
      ? notCounted
      : html`${count(store.plants + (store.createdSince ?? 0))}<${Counted} ...${store} />`;
  const growth = growthIn(minutes, store);
  const sizes = [
    ['Place', html`<code>${store.wholeLocation}</code>`],
    ['Plants', plants],
    ...size(store.logBytes === undefined ? 'Size' : 'File', store.plantsBytes),
    ...size('Log', store.logBytes),
    ...size('Free on the disk', store.freeBytes, store.isSpaceLow),
    ...(growth ? [['Growth', growthText(growth)]] : []),
    ...(store.promise === null ? [] : [['A 200 means', store.promise]]),
  ];
  const service = [
    ['Version', version],
    ['Started', html`<${When} time=${startedAt} hasUtc />`],
  ];
  const card = `card ${isStale ? 'stale' : ''}`;
  return html`
    <div class="grid">
      <section class=${card}><h2>Outcomes</h2><${Outcomes} creates=${overview.creates} minutes=${minutes} /></section>
      <section class=${card}><h2>Refused</h2><${RefusedCodes} refusals=${overview.refusals} minutes=${minutes} /></section>
      <section class=${card}><h2>Readiness</h2>
        ${isStale && html`<p class="quiet">Not known at the moment</p>`}
        <${Facts} facts=${[...(isStale ? [] : readiness), ...service]} /></section>
      <section class=${card}><h2>Store</h2><${Facts} facts=${sizes} /></section>
      <section class=${card}><h2>Backup</h2><${BackupState} ...${{ backup, store, configuration }} />${jobs.length > 0 && html`<${Facts} facts=${jobs.map(jobFact)} />`}</section>
    </div>`;
}

const notCounted = html`<span class="quiet">not counted yet</span>`;

function size(name: string, value: number | undefined, isLow = false) {
  if (value === undefined) return [];
  return [
    [name, html`${sizeText(value)} ${isLow && html`<span class="badge changed">low</span>`}`],
  ];
}

/** The plants are counted at intervals, so the number may be older than all else. */
function Counted({ countedAt, createdSince }: Overview['store']) {
  const since = (createdSince ?? 0) > 0 && `, with ${count(createdSince ?? 0)} created since`;
  return (
    countedAt !== null &&
    html`<span class="quiet">, counted <${When} time=${countedAt} />${since}</span>`
  );
}

type BackupStateProps = Pick<Overview, 'backup' | 'store' | 'configuration'>;

function BackupState({ backup, store, configuration }: BackupStateProps) {
  const hasFolder = configuration.some(({ name }) => name === 'backup-to');
  const remedy = hasFolder
    ? html`<p>The page <a href="#/backups">Backups</a> makes one.</p>`
    : html`<p>This command makes one:</p><pre tabindex="0"><code>plant-store backup /var/backups --store ${store.shellLocation}</code></pre>`;
  if (backup === null && store.logBytes === undefined)
    return html`<p>This store knows of no backup; it does not see backups of the database.</p>${remedy}`;
  if (backup === null)
    return html`<p><span class="badge ${store.plants ? 'bad' : ''}">none</span> This store has no verified backup.</p>${remedy}`;
  const isOld = isBackupOld(backup.finishedAt);
  const { missingPlants, isFileGone } = backup;
  const isLost = isFileGone && store.logBytes !== undefined;
  const gone = isLost
    ? html`<span class="badge bad">no longer there</span>`
    : html`<span class="quiet">not on the machine of the service</span>`;
  const facts = [
    [
      'Last verified',
      html`<${When} time=${backup.finishedAt} hasUtc /> ${isOld && html`<span class="badge bad">old</span>`}`,
    ],
    ['Plants in it', count(backup.plants)],
    ['Plants since', missingPlants === null ? notCounted : count(missingPlants)],
    ['File', html`<code>${backup.file}</code> ${isFileGone && gone}`],
    ['Digest', html`<code>${backup.digest}</code>`],
  ];
  return html`<${Facts} facts=${facts} />${(isOld || isLost) && remedy}`;
}

/** The last success says how long it took; a later failure says why. */
function jobFact({ name, fault, ranAt, succeededAt, tookSeconds }: Job) {
  const failure = html`<span class="badge bad">failed</span> <${When} time=${ranAt} />: ${fault}`;
  const success = html`<${When} time=${succeededAt} />, took ${lengthText(tookSeconds ?? 0)}`;
  const last =
    succeededAt === null ? 'it has never succeeded' : html`the last good one was ${success}`;
  return [jobTexts[name].title, fault === null ? success : html`${failure}; ${last}`];
}
