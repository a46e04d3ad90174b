import { UsageError } from '../../config/values.ts';
import { problemNames, problems } from '../../contract/problems.ts';
import type { History, Minute, Overview, Setting } from '../../ops/contract.ts';
import {
  codesText,
  historyFigures,
  hoursOf,
  lastHour,
  minutesWithoutService,
  type RefusalRow,
  refusalRows,
  startsIn,
  sumOf,
} from '../../ops/history-figures.ts';
import { ageText } from '../age-text.ts';
import { command, type Terminal } from '../command.ts';
import { printFacts, printFindings } from '../terminal/facts.ts';
import { type Column, printTable } from '../terminal/table.ts';
import { wrapped } from '../terminal/wrap.ts';
import { addressFlags, operatorAddress } from './address.ts';
import { readiness } from './ask.ts';
import { recordInJson } from './record-lines.ts';
import { signInAt } from './session.ts';

export const status = command({
  positionals: [],
  summary:
    'Tell how a running service is: its checks, its starts, its creates, and its refusals by code, also of the last 24 hours. The exit code is 1 if the service is not ready.',
  need: 'Use it in the morning, and to see which settings are in force. It needs access to the store of the service.',
  flags: ['store', ...addressFlags, 'hours', 'settings', 'json'],
  examples: [
    'plant-store status',
    'plant-store status --hours',
    'plant-store status --settings',
    'plant-store status --json',
  ],
  async run({ values }, terminal) {
    const address = operatorAddress(values, 'ask for the status');
    const { hours, settings, json } = values;
    if (hours && settings)
      throw new UsageError('--hours and --settings ask for two answers; give one');
    const { ready, checks } = await readiness(address);
    // The service may not take a sign-in, for the reason that a check tells.
    if (!(hours || settings || json)) printFindings(checks, terminal);
    await using session = await signInAt(address, values.store);
    const history = async () => {
      const { minutes, begun } = await session.get<History>('/api/history');
      return [...minutes, begun];
    };
    const overview = () => session.get<Overview>('/api/overview');
    if (settings) await printRows(settingColumns, (await overview()).configuration, json, terminal);
    else if (hours) await printRows(hourColumns, hoursIn(await history()), json, terminal);
    else {
      const report = reportOf(await overview(), await history());
      if (json) await terminal.print(recordInJson(report));
      else await printReport(report, terminal);
    }
    return ready ? 0 : 1;
  },
});

type Report = ReturnType<typeof reportOf>;

/** The figures of the last minute and since the start are of one service, the others of all. */
function reportOf({ configuration: _, ...overview }: Overview, minutes: readonly Minute[]) {
  const { slowest } = historyFigures(minutes);
  return {
    ...overview,
    creates: outcomes.map((outcome) => ({
      outcome,
      lastMinute: overview.creates[outcome].lastMinute,
      lastHour: sumOf(lastHour(minutes), outcome),
      last24Hours: sumOf(minutes, outcome),
      total: overview.creates[outcome].total,
    })),
    refusals: refusalRows(overview.refusals, minutes),
    starts: startsIn(minutes).map(isoMinute),
    minutesWithoutService: minutesWithoutService(minutes),
    slowestMinute: slowestIn(slowest),
  };
}

const outcomes = ['created', 'same', 'taken', 'failed'] as const;

/** The p99 is interpolated: more than three digits say nothing. */
function slowestIn(minute: Minute | undefined) {
  if (minute?.p99Ms == null) return undefined;
  return { at: isoMinute(minute.atMs), p99Ms: Number(minute.p99Ms.toPrecision(3)) };
}

function isoMinute(ms: number): string {
  return new Date(ms).toISOString().replace(':00.000Z', 'Z');
}

async function printReport(report: Report, terminal: Terminal): Promise<void> {
  terminal.print('');
  printFacts(factsOf(report), terminal);
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
  'LAST HOUR and 24 HOURS count all services, also before the start. The other columns count this service.';

function factsOf(report: Report): (readonly [name: string, value: string])[] {
  const { store, backup, slowestMinute: slowest } = report;
  return [
    ['version', report.version],
    ['started', timeAndAge(report.startedAt)],
    ['starts in 24 hours', report.starts.join(', ') || 'none'],
    ['without a service', `${report.minutesWithoutService} minutes`],
    [
      'slowest minute',
      slowest ? `${slowest.at}, p99 ${slowest.p99Ms} ms` : 'no create in 24 hours',
    ],
    ['store', store.wholeLocation],
    [
      'plants',
      store.plants === null
        ? 'not counted yet'
        : `${number(store.plants)}, counted ${timeAndAge(`${store.countedAt}`)}`,
    ],
    [
      'last backup',
      backup ? `${timeAndAge(backup.finishedAt)}, ${number(backup.plants)} plants` : 'none',
    ],
    ...report.limited.map(({ name, lastAt }): [string, string] => [
      'beyond its rate',
      `${name}, at ${lastAt}`,
    ]),
    ...report.expiringTokens.map(({ name, expiresAt, isRotated }): [string, string] => [
      'expires soon',
      `${isRotated ? 'the old secret of ' : ''}${name}, at ${expiresAt}`,
    ]),
  ];
}

function timeAndAge(time: string): string {
  return `${time}, ${ageText(Math.max(0, Date.now() - Date.parse(time)))} ago`;
}

function number(value: number): string {
  return value.toLocaleString('en');
}

type Counts = Pick<RefusalRow, 'lastMinute' | 'lastHour' | 'last24Hours' | 'total'>;

const countColumns: readonly Column<Counts>[] = [
  { head: 'LAST MINUTE', kind: 'number', cell: ({ lastMinute }) => number(lastMinute) },
  { head: 'LAST HOUR', kind: 'number', cell: ({ lastHour }) => number(lastHour) },
  { head: '24 HOURS', kind: 'number', cell: ({ last24Hours }) => number(last24Hours) },
  { head: 'SINCE START', kind: 'number', cell: ({ total }) => number(total) },
];

const outcomeColumns: readonly Column<Report['creates'][number]>[] = [
  { head: 'CREATES', kind: 'text', cell: ({ outcome }) => outcome },
  ...countColumns,
];

const codeColumns: readonly Column<RefusalRow>[] = [
  { head: 'REFUSED', kind: 'number', cell: ({ code }) => `${code}` },
  ...countColumns,
  { head: 'MEANING', kind: 'text', cell: ({ code }) => meaningOf(code) },
];

/** Empty for a code of another version. */
function meaningOf(code: number): string {
  const name = problemNames.find((one) => problems[one].code === code);
  return name === undefined ? '' : problems[name].when;
}

async function printRows<Row extends object>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  isJson: boolean,
  terminal: Terminal,
): Promise<void> {
  if (isJson) for (const row of rows) await terminal.print(recordInJson(row));
  else await printTable(columns, rows, terminal);
}

const settingColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'text', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'text', cell: ({ source }) => source },
  { head: 'AS TYPED', kind: 'text', cell: ({ value, inForce }) => (inForce === null ? '' : value) },
  { head: 'DEFAULT', kind: 'text', cell: (setting) => setting.default ?? '' },
];

const hourMs = 3_600_000;

function hoursIn(minutes: readonly Minute[]) {
  const hours = hoursOf(minutes, (atMs) => Math.floor(atMs / hourMs) * hourMs);
  return hours.map(({ atMs, minutes, slowest, ...figures }) => ({
    ...{ at: new Date(atMs).toISOString(), minutes, ...figures },
    slowestMinute: slowestIn(slowest),
  }));
}

const hourColumns: readonly Column<ReturnType<typeof hoursIn>[number]>[] = [
  { head: 'HOUR', kind: 'time', cell: ({ at }) => at.replace(':00.000Z', 'Z') },
  { head: 'CREATED', kind: 'number', cell: ({ created }) => number(created) },
  { head: 'SAME', kind: 'number', cell: ({ same }) => number(same) },
  { head: 'FAILED', kind: 'number', cell: ({ failed }) => number(failed) },
  { head: 'REFUSED', kind: 'number', cell: ({ refused }) => number(refused) },
  { head: 'P99 MS', kind: 'number', cell: ({ slowestMinute: one }) => `${one?.p99Ms ?? ''}` },
  { head: 'MINUTES', kind: 'number', cell: ({ minutes }) => `${minutes}` },
  { head: 'BY CODE', kind: 'text', cell: ({ refusals }) => codesText(refusals) },
];
