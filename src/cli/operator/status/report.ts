import { intervalText } from '../../../age-text.ts';
import { problemTitle } from '../../../contract/problems.ts';
import type { BackupList, History, Overview, Sample } from '../../../ops/contract.ts';
import {
  type Counts,
  crashText,
  failuresIn,
  gapsIn,
  growthIn,
  growthText,
  historyFigures,
  type OutcomeRow,
  outcomeRows,
  type RefusalRow,
  refusalRows,
  startsIn,
} from '../../../ops/history-figures.ts';
import { sizeText } from '../../../size-text.ts';
import type { Terminal } from '../../command.ts';
import { type Fact, printFacts } from '../../terminal/facts.ts';
import { numberText, plantsText } from '../../terminal/progress.ts';
import { type Column, printTable } from '../../terminal/table.ts';
import { wrapped } from '../../terminal/wrap.ts';
import { attentionFacts } from './attention.ts';
import { isoMinute, slowestIn, timeAndAge } from './figures.ts';
import { scheduleFacts, scheduleOf } from './schedule.ts';

export type Report = ReturnType<typeof reportOf>;

/** The figures of the last minute and since the start are of one service, the others of all. */
export function reportOf(
  { configuration: _, ...overview }: Overview,
  { minutes: ended, begun, crashes }: History,
  lastSecond: Sample | undefined,
  backups: BackupList,
) {
  const minutes = [...ended, begun];
  const { slowest } = historyFigures(minutes);
  const failures = failuresIn(minutes);
  return {
    ...overview,
    lastSecond,
    failures: failures && {
      ...{ requests: failures.requests, lastAt: isoMinute(failures.lastMs) },
      names: failures.names,
    },
    creates: outcomeRows(overview.creates, minutes),
    refusals: refusalRows(overview.refusals, minutes),
    starts: startsIn(minutes).map(isoMinute),
    gaps: gapsIn(minutes).map(({ fromMs, toMs }) => ({
      from: isoMinute(fromMs),
      to: isoMinute(toMs),
    })),
    crashes: crashes.map(({ startedAtMs, lastMs }) => ({
      startedAt: new Date(startedAtMs).toISOString(),
      lastMinute: isoMinute(lastMs),
    })),
    slowestMinute: slowestIn(slowest),
    growth: growthIn(minutes, overview.store),
    schedule: scheduleOf(backups),
  };
}

export async function printReport(report: Report, terminal: Terminal): Promise<void> {
  terminal.print('');
  printFacts([...attentionFacts(report), ...factsOf(report)], terminal);
  terminal.print('');
  await printTable(outcomeColumns, report.creates, terminal);
  terminal.print('');
  if (report.refusals.length === 0) terminal.print('No request was refused in the last 24 hours.');
  else await printTable(codeColumns, report.refusals, terminal);
  terminal.print('');
  for (const line of wrapped(explanation, terminal.width ?? Number.POSITIVE_INFINITY))
    terminal.print(line);
}

const explanation =
  'LAST HOUR and 24 HOURS count all services, also before the start. The other columns count this service. "status --hours" shows each hour, and "status --tokens" each client.';

function factsOf(report: Report): Fact[] {
  const { store, slowestMinute: slowest, lastSecond, starts, gaps } = report;
  const p99 = slowest ? `${slowest.at}, p99 ${slowest.p99Ms} ms` : 'no create in 24 hours';
  const away = gaps.map(
    ({ from, to }) => `${from} to ${to} (${intervalText(Date.parse(to) - Date.parse(from))})`,
  );
  return [
    ['version', report.version],
    ['started', timeAndAge(report.startedAt)],
    ['starts in 24 hours', lastOf(starts) || 'none'],
    ...crashFacts(report),
    [
      'without a service',
      lastOf(away) || 'never in 24 hours',
      away.length > 0 ? 'warning' : undefined,
    ],
    ...(lastSecond ? [['last second', secondText(lastSecond)] as const] : []),
    ['slowest minute', p99],
    ['store', store.wholeLocation],
    ['plants', countText(report)],
    ...sizeFacts(report),
    ['last backup', backupText(report), hasBackup(report) ? undefined : 'warning'],
    ...scheduleFacts(report),
  ];
}

function crashFacts({ crashes }: Report): Fact[] {
  if (crashes.length === 0) return [];
  const after = lastOf(crashes.map(({ lastMinute }) => lastMinute));
  return [['ended', `by ${crashText}, after ${after}`, 'bad']];
}

const listedMax = 8;

/** A day may have hundreds of starts. */
function lastOf(texts: readonly string[]): string {
  const last = texts.slice(-listedMax);
  if (last.length === texts.length) return last.join(', ');
  return `${texts.length}; the last ${listedMax}: ${last.join(', ')}; all in "status --json"`;
}

function secondText({ createdPerSecond, p99Ms, queuePlants, connections }: Sample): string {
  const latency = p99Ms === null ? '' : `, p99 ${Number(p99Ms.toPrecision(3))} ms`;
  return `${numberText(Math.round(createdPerSecond))} created${latency}, ${plantsText(queuePlants)} in the queue, ${numberText(connections)} ${connections === 1 ? 'connection' : 'connections'}`;
}

function countText({ store: { plants, countedAt, createdSince } }: Report): string {
  if (plants === null || countedAt === null || createdSince === null) return 'being counted';
  const since = createdSince > 0 ? `, with ${numberText(createdSince)} created since` : '';
  return `${numberText(plants + createdSince)}, counted ${timeAndAge(countedAt)}${since}`;
}

function sizeFacts({ store: { plantsBytes, freeBytes }, growth }: Report): Fact[] {
  const free = freeBytes === undefined ? '' : `, ${sizeText(freeBytes)} free`;
  return [
    ...(plantsBytes === undefined ? [] : [['size', `${sizeText(plantsBytes)}${free}`] as const]),
    ...(growth ? [['growth', growthText(growth)] as const] : []),
  ];
}

/** The backups of a database may be on another machine. */
function hasBackup({ backup, store }: Report): boolean {
  const mayBeElsewhere = store.logBytes === undefined;
  return mayBeElsewhere || (backup !== null && !backup.isFileGone);
}

function backupText({ backup, store }: Report): string {
  if (backup === null) return 'none';
  const { missingPlants, isFileGone } = backup;
  const mayBeElsewhere = store.logBytes === undefined;
  const gone = mayBeElsewhere ? ', which is not on this machine' : ': the file is no longer there';
  const since = missingPlants === null ? '' : `, ${numberText(missingPlants)} created since`;
  return `${timeAndAge(backup.finishedAt)}, ${plantsText(backup.plants)}${since}, at ${backup.file}${isFileGone ? gone : ''}`;
}

const countColumns: readonly Column<Counts>[] = [
  { head: 'LAST MINUTE', kind: 'number', cell: ({ lastMinute }) => numberText(lastMinute) },
  { head: 'LAST HOUR', kind: 'number', cell: ({ lastHour }) => numberText(lastHour) },
  { head: '24 HOURS', kind: 'number', cell: ({ last24Hours }) => numberText(last24Hours) },
  { head: 'SINCE START', kind: 'number', cell: ({ total }) => numberText(total) },
];

const outcomeColumns: readonly Column<OutcomeRow>[] = [
  { head: 'CREATES', kind: 'whole', cell: ({ outcome }) => outcome },
  ...countColumns,
];

const codeColumns: readonly Column<RefusalRow>[] = [
  { head: 'REFUSED', kind: 'number', cell: ({ code }) => `${code}` },
  ...countColumns,
  { head: 'MEANING', kind: 'words', cell: ({ code }) => problemTitle(code) },
];
