import { UsageError } from '../../../config/values.ts';
import type {
  BackupList,
  History,
  Overview,
  SampleList,
  TokenList,
} from '../../../ops/contract.ts';
import { command, type Terminal } from '../../command.ts';
import { printFindings } from '../../terminal/facts.ts';
import { numberText } from '../../terminal/progress.ts';
import { type Column, printTable } from '../../terminal/table.ts';
import { addressFlags, addressTexts, operatorAddress } from '../address.ts';
import { readiness } from '../ask.ts';
import { recordInJson } from '../record-lines.ts';
import { type OperatorSession, signInAt } from '../session.ts';
import { printReport, reportOf } from './report.ts';
import {
  backupColumns,
  hourColumns,
  hoursIn,
  refused24HoursHead,
  sendersIn,
  settingColumns,
  tokenColumns,
  withKind,
} from './tables.ts';

export const status = command({
  positionals: [],
  summary:
    'Tell how a running service is: its checks, its starts, its creates, its next backup, and its refusals by code, also of the last 24 hours. The exit code is 1 if the service is not ready.',
  need: 'Use it in the morning, to find the client that has trouble, and to see which settings are in force. It needs access to the store of the service.',
  flags: ['store', ...addressFlags, 'hours', 'tokens', 'backups', 'settings', 'json'],
  texts: addressTexts,
  examples: [
    'plant-store status',
    'plant-store status --hours',
    'plant-store status --tokens',
    'plant-store status --backups',
    'plant-store status --settings',
    'plant-store status --json',
  ],
  async run({ values }, terminal) {
    const address = operatorAddress(values, 'ask for the status');
    const tables = (['hours', 'tokens', 'backups', 'settings'] as const).filter(
      (name) => values[name],
    );
    const [table, other] = tables;
    if (other !== undefined)
      throw new UsageError(`--${table} and --${other} ask for two tables; give one`);
    const { ready, checks } = await readiness(address);
    const isForPeople = table === undefined && !values.json;
    const showChecks = () => isForPeople && printFindings(checks, terminal);
    await using session = await signInAt(address, values.store).catch((error) => {
      // A check may tell why the service takes no sign-in. Sound checks say nothing of a wrong store.
      if (checks.some(({ level }) => level !== 'ok')) showChecks();
      throw error;
    });
    showChecks();
    if (table !== undefined) await printers[table](session, values.json, terminal);
    else {
      const { samples } = await session.get<SampleList>('/api/samples');
      const backups = await session.get<BackupList>('/api/backups');
      const minutes = await minutesOf(session);
      const report = reportOf(await overviewOf(session), minutes, samples.at(-1), backups);
      if (values.json) await terminal.print(recordInJson(report));
      else await printReport(report, terminal);
    }
    return ready ? 0 : 1;
  },
});

type PrintTable = (session: OperatorSession, isJson: boolean, terminal: Terminal) => Promise<void>;

const printers: Readonly<Record<'hours' | 'tokens' | 'backups' | 'settings', PrintTable>> = {
  async hours(session, isJson, terminal) {
    const rows = hoursIn(await minutesOf(session), !isJson);
    const columns = hourColumns(rows, terminal.width);
    await printRows(columns, rows, isJson, terminal);
    if (!isJson && columns.length < hourColumns(rows).length) terminal.note(tooNarrow);
  },
  async tokens(session, isJson, terminal) {
    const list = await session.get<TokenList>('/api/tokens');
    const senders = sendersIn(list, await minutesOf(session));
    const columns = tokenColumns(senders, terminal.width);
    await printRows(columns, senders, isJson, terminal);
    if (isJson) return;
    terminal.note(
      `The figures count this service since its start, ${list.since}; ${refused24HoursHead} counts the refusals by all services.`,
    );
    if (columns.length < tokenColumns(senders, undefined).length) terminal.note(tooNarrow);
  },
  async backups(session, isJson, terminal) {
    const { folder, fault, backups, leftOut } = await session.get<BackupList>('/api/backups');
    if (folder === null) return terminal.note(noFolder);
    const rows = backups.map(withKind);
    const columns = backupColumns(rows, terminal.width);
    if (rows.length > 0) await printRows(columns, rows, isJson, terminal);
    if (fault !== null) terminal.note(`The backups in ${folder} are not known: ${fault}.`);
    else if (backups.length === 0) terminal.note(`There is no backup in ${folder} yet.`);
    if (leftOut > 0) terminal.note(`${numberText(leftOut)} older backups are in ${folder}.`);
  },
  async settings(session, isJson, terminal) {
    await printRows(settingColumns, (await overviewOf(session)).configuration, isJson, terminal);
  },
};

const tooNarrow =
  'The terminal is too narrow for all columns; "| less -S" after the command shows them.';

const noFolder =
  'The service has no folder for backups; "plant-store serve --backup-to FOLDER" makes backups.';

function overviewOf(session: OperatorSession): Promise<Overview> {
  return session.get('/api/overview');
}

/** Of 24 hours, with the minute that has begun. */
async function minutesOf(session: OperatorSession) {
  const { minutes, begun } = await session.get<History>('/api/history');
  return [...minutes, begun];
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
