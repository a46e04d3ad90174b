import { intervalText, numberText, sizeText } from '../../../quantity-text.ts';
import type { BackupList, ListedBackup, RunningBackup } from '../../contract.ts';
import type { PageProps } from './state.ts';
import {
  Badge,
  type Column,
  Distance,
  type Fact,
  Facts,
  Failure,
  h,
  Loading,
  table,
  useAct,
  When,
} from './ui.ts';

const columns: readonly Column<ListedBackup>[] = [
  { head: 'Made', cell: ({ createdAt }) => h(When, { time: createdAt }) },
  {
    head: 'Check',
    cell: ({ fault }) =>
      fault === null
        ? h(Badge, { tone: 'good', text: 'verified' })
        : [h(Badge, { tone: 'bad', text: 'damaged' }), ` ${fault}`],
  },
  { head: 'Plants', kind: 'number', cell: ({ plants }) => shown(plants, numberText) },
  { head: 'Size', kind: 'number', cell: ({ bytes }) => shown(bytes, sizeText) },
  { head: 'File', cell: ({ file }) => h('code', {}, file) },
];

function shown(figure: number | null, textOf: (figure: number) => string): string {
  return figure === null ? '–' : textOf(figure);
}

export function Backups({ service, state: { backups } }: PageProps) {
  const act = useAct();
  if (!backups) return h(Loading, {});
  if (backups.folder === null) {
    const start = ['Start it with ', h('code', {}, '--backup-to FOLDER')];
    const says = ['The service has no folder for backups. ', start, ', and it makes backups.'];
    return h('p', {}, says);
  }
  const { fault, running, leftOut } = backups;
  const backUp = () =>
    act.run(async () => {
      await service.ask('POST', '/backups');
      service.refresh();
    });
  const list =
    backups.backups.length === 0
      ? h('p', { class: 'quiet' }, 'The folder has no backup of this store.')
      : table({ caption: 'Backups', columns, rows: backups.backups, rowKey: ({ file }) => file });
  const button = { class: 'main beside', disabled: running !== null, onClick: backUp };
  return [
    h('button', button, 'Back up now'),
    h(Failure, { error: act.error ?? (fault === null ? undefined : new Error(fault)) }),
    h('section', { class: 'card' }, h(Facts, { facts: factsOf(backups) })),
    h('div', { role: 'status' }, running && h(UnderWay, running)),
    fault === null && list,
    leftOut > 0 &&
      h('p', { class: 'quiet' }, `${numberText(leftOut)} older backups are not shown.`),
  ];
}

function factsOf({ folder, keep, everySeconds, dueAt, last }: BackupList): Fact[] {
  const every = `every ${intervalText(everySeconds * 1_000)}, next `;
  const failed = last?.fault && h(Badge, { tone: 'bad', text: 'failed' });
  const outcome = last && [
    failed || 'succeeded',
    ' ',
    h(Distance, { time: last.ranAt }),
    last.fault && `: ${last.fault}`,
  ];
  return [
    ['Folder', h('code', {}, folder)],
    ['Schedule', [every, h(Distance, { time: dueAt })]],
    ['Kept', h('code', {}, keep)],
    ['Last run', outcome ?? 'none'],
  ];
}

function UnderWay({ startedAt, operator }: RunningBackup) {
  const of = operator === null ? '' : ` for ${operator}`;
  const says = [`A backup${of} is under way, and began `, h(Distance, { time: startedAt }), '.'];
  return h('p', {}, says);
}
