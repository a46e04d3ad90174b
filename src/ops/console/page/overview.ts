import { numberText, sizeText } from '../../../quantity-text.ts';
import type { LinkedFinding, Overview } from '../../contract.ts';
import { Chart, type ChartProps } from './chart.ts';
import type { PageProps } from './state.ts';
import { Badge, type Children, Distance, ExactText, type Fact, Facts, h, Loading } from './ui.ts';

const charts: readonly Omit<ChartProps, 'samples'>[] = [
  {
    title: 'Creates',
    unit: 'per second',
    lines: { new: 'createdPerSecond', retries: 'samePerSecond' },
  },
  {
    title: 'Not stored',
    unit: 'per second',
    lines: {
      refused: 'refusedPerSecond',
      'id taken': 'takenPerSecond',
      failed: 'failedPerSecond',
    },
  },
  { title: 'Latency', unit: 'ms', lines: { p50: 'p50Ms', p99: 'p99Ms' } },
  {
    title: 'Load',
    unit: 'now',
    lines: { connections: 'connections', 'waiting plants': 'queuePlants' },
  },
];

export function OverviewPage({ state: { overview, samples } }: PageProps) {
  if (!overview) return h(Loading, {});
  const curves = charts.map((chart) => h(Chart, { ...chart, samples }));
  return h(
    'div',
    { class: 'overview' },
    h('div', { class: 'tiles' }, tilesOf(overview)),
    h(Attention, { findings: overview.attention }),
    h('div', { class: 'charts' }, curves),
    h(Facts, { facts: factsOf(overview), kind: 'short' }),
  );
}

function tilesOf({ checks, ready, store, creates, refused, backup, ...overview }: Overview) {
  const missing = backup?.missingPlants ?? null;
  const plants = store.plants === null ? '–' : numberText(store.plants);
  const counted = store.plants === null ? 'not counted yet' : 'in the store';
  return [
    tile('Status', h(Ready, { ready, checks }), [
      'started ',
      h(Distance, { time: overview.startedAt }),
      `, version ${overview.version}`,
    ]),
    tile('Plants', plants, counted),
    tile('New plants', numberText(creates.created.lastMinute), [
      'in the last minute, ',
      numberText(creates.created.total),
      ' since the start',
    ]),
    tile('Refused', numberText(refused.lastMinute), [
      h('a', { href: '#/refusals' }, 'in the last minute'),
      `, ${numberText(refused.total)} since the start`,
    ]),
    tile('Last backup', h(Distance, { time: backup?.finishedAt ?? null, or: 'none' }), [
      h('a', { href: '#/backups' }, 'Backups'),
      missing === null ? '' : `, ${numberText(missing)} plants since`,
    ]),
  ];
}

function tile(name: string, figure: Children, says: Children) {
  return h(
    'section',
    { class: 'card tile' },
    h('h2', {}, name),
    h('p', { class: 'figure' }, figure),
    h('p', { class: 'quiet' }, says),
  );
}

function Ready({ ready, checks }: Pick<Overview, 'ready' | 'checks'>) {
  if (!ready) return h(Badge, { tone: 'bad', text: 'not ready' });
  return checks.every(({ level }) => level === 'ok')
    ? h(Badge, { tone: 'good', text: 'ready' })
    : h(Badge, { tone: 'warning', text: 'ready, with a warning' });
}

const toneOf = { error: 'bad', warning: 'warning', note: '' } as const;

function Attention({ findings }: { findings: readonly LinkedFinding[] }) {
  if (findings.length === 0) return h('p', { class: 'card quiet' }, 'Nothing needs attention.');
  const items = findings.map(({ level, says, page }) =>
    h(
      'li',
      {},
      h(Badge, { tone: toneOf[level], text: level }),
      ' ',
      h(ExactText, { text: says }),
      page !== null && [' ', h('a', { href: `#${page}`, 'aria-label': `More: ${says}` }, 'More')],
    ),
  );
  return h('ul', { class: 'card', 'aria-label': 'Needs attention' }, items);
}

function factsOf({ store }: Overview): Fact[] {
  const size = (name: string, bytes: number | undefined): Fact[] =>
    bytes === undefined ? [] : [[name, sizeText(bytes)]];
  return [
    ['Store', h('code', {}, store.location)],
    ...size('Size', store.plantsBytes),
    ...size('WAL', store.logBytes),
    ...size('Free on the disk', store.freeBytes),
    ...(store.promise === null ? [] : [['A 200 means', store.promise] as const]),
  ];
}
