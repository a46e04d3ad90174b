import { problemNames, problems } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import type { History, Minute, Overview, Setting } from '../../ops/contract.ts';
import {
  historyFigures,
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
  flags: ['store', ...addressFlags, 'settings', 'json'],
  examples: ['plant-store status', 'plant-store status --settings', 'plant-store status --json'],
  async run({ values }, terminal) {
    const address = operatorAddress(values, 'ask for the status');
    const { ready, checks } = await readiness(address);
    const isForPeople = !(values.json || values.settings);
    // The service may not take a sign-in, for the reason that a check tells.
    if (isForPeople) printFindings(checks, terminal);
    await using session = await signInAt(address, values.store);
    const overview = await session.get<Overview>('/api/overview');
    if (values.settings) await printSettings(overview.configuration, values.json, terminal);
    else {
      const { minutes } = await session.get<History>('/api/history');
      const report = reportOf(overview, minutes);
      if (values.json) await terminal.print(recordInJson(report));
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
    starts: startsIn(minutes, overview.startedAt).map(isoMinute),
    historyUntil: endOf(minutes.at(-1)),
    minutesWithoutService: minutesWithoutService(minutes),
    slowestMinute: slowest && { at: isoMinute(slowest.atMs), p99Ms: slowest.p99Ms },
  };
}

const outcomes = ['created', 'same', 'taken', 'failed'] as const;

/** The end of the minute. */
function endOf(minute: Minute | undefined): string | undefined {
  return minute && isoMinute(minute.atMs + limits.history.minuteMs);
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
  for (const line of wrapped(explanation(report), terminal.width ?? Number.POSITIVE_INFINITY))
    terminal.print(line);
}

function explanation({ historyUntil }: Report): string {
  const ofService = 'LAST MINUTE and SINCE START count this service.';
  return historyUntil === undefined
    ? `${ofService} The history of all services begins at the end of the first minute.`
    : `${ofService} LAST HOUR and 24 HOURS count all services until ${historyUntil}.`;
}

function factsOf(report: Report): (readonly [name: string, value: string])[] {
  const { store, backup, slowestMinute: slowest } = report;
  return [
    ['version', report.version],
    ['started', timeAndAge(report.startedAt)],
    ['starts in 24 hours', report.starts.join(', ') || 'none'],
    ['without a service', `${report.minutesWithoutService} minutes`],
    [
      'slowest minute',
      slowest
        ? `${slowest.at}, p99 ${Number(slowest.p99Ms?.toPrecision(3))} ms`
        : 'no create in 24 hours',
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

async function printSettings(
  settings: readonly Setting[],
  isJson: boolean,
  terminal: Terminal,
): Promise<void> {
  if (isJson) for (const setting of settings) await terminal.print(recordInJson(setting));
  else await printTable(settingColumns, settings, terminal);
}

const settingColumns: readonly Column<Setting>[] = [
  { head: 'SETTING', kind: 'text', cell: ({ name }) => `--${name}` },
  { head: 'IN FORCE', kind: 'text', cell: ({ value, inForce }) => inForce ?? value },
  { head: 'FROM', kind: 'text', cell: ({ source }) => source },
  { head: 'AS TYPED', kind: 'text', cell: ({ value, inForce }) => (inForce === null ? '' : value) },
  { head: 'DEFAULT', kind: 'text', cell: (setting) => setting.default ?? '' },
];
