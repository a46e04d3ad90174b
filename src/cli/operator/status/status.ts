import { setTimeout } from 'node:timers/promises';
import type { Values } from '../../../config/flags.ts';
import { UsageError } from '../../../config/values.ts';
import { limits } from '../../../limits.ts';
import type {
  BackupList,
  History,
  Overview,
  SampleList,
  Time,
  TokenList,
} from '../../../ops/contract.ts';
import { command, type Terminal } from '../../command.ts';
import { printFindings } from '../../terminal/facts.ts';
import { numberText } from '../../terminal/progress.ts';
import { type Column, printTable } from '../../terminal/table.ts';
import { addressFlags, addressTexts, operatorAddress } from '../address.ts';
import { readiness } from '../ask.ts';
import { demandClient } from '../client-name.ts';
import { recordInJson } from '../record-lines.ts';
import { type OperatorSession, signInAt } from '../session.ts';
import { printReport, reportOf } from './report.ts';
import {
  backupColumns,
  hourColumns,
  hoursIn,
  hoursOfSender,
  refusedClients,
  senderHourColumns,
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
  flags: ['store', ...addressFlags, 'hours', 'token', 'tokens', 'backups', 'settings', 'json'],
  texts: {
    ...addressTexts,
    token: {
      help: 'with --hours or --tokens: only one client: the name of its token, environment (the fixed token), or its subject',
      need: 'To see when the trouble of a client began.',
    },
  },
  examples: [
    'plant-store status',
    'plant-store status --hours',
    'plant-store status --hours --token my-app',
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
    if (values.token !== undefined) {
      if (!values.hours && !values.tokens)
        throw new UsageError('--token needs --hours or --tokens, the tables that tell of clients');
      await demandClient(values.token, values.store);
    }
    const { ready, checks } = await readiness(address);
    const isForPeople = table === undefined && !values.json;
    const showChecks = () => isForPeople && printFindings(checks, terminal);
    await using session = await signInAt(address, values.store).catch((error) => {
      // A check may tell why the service takes no sign-in. Sound checks say nothing of a wrong store.
      if (checks.some(({ level }) => level !== 'ok')) showChecks();
      throw error;
    });
    showChecks();
    if (table !== undefined) await printers[table](session, values, terminal);
    else {
      const { samples } = await session.get<SampleList>('/api/samples');
      const backups = await session.get<BackupList>('/api/backups');
      const overview = await countedOverview(session);
      // Last: a longer time has no lower count.
      const history = await historyOf(session);
      const report = reportOf(overview, history, samples.at(-1), backups);
      if (values.json) await terminal.print(recordInJson(report));
      else await printReport(report, terminal);
    }
    return ready ? 0 : 1;
  },
});

type PrintTable = (
  session: OperatorSession,
  values: Values<'json' | 'token'>,
  terminal: Terminal,
) => Promise<void>;

const printers: Readonly<Record<'hours' | 'tokens' | 'backups' | 'settings', PrintTable>> = {
  async hours(session, { json: isJson, token }, terminal) {
    const minutes = await minutesOf(session);
    if (token !== undefined) {
      const ofToken = hoursOfSender(minutes, token, !isJson);
      return printRows(senderHourColumns(ofToken), ofToken, isJson, terminal);
    }
    const rows = hoursIn(minutes, !isJson);
    const columns = hourColumns(rows, terminal.width);
    await printRows(columns, rows, isJson, terminal);
    if (!isJson && !columns.includes(refusedClients)) terminal.note(tooNarrow);
  },
  async tokens(session, { json: isJson, token }, terminal) {
    const list = await session.get<TokenList>('/api/tokens');
    const all = sendersIn(list, await minutesOf(session));
    const senders = token === undefined ? all : all.filter(({ name }) => name === token);
    const columns = tokenColumns(senders, terminal.width);
    if (senders.length === 0) return terminal.note(noRequest(token, list.since));
    await printRows(columns, senders, isJson, terminal);
    if (isJson) return;
    terminal.note(
      `The figures count this service since its start, ${list.since}. REFUSED 1m (the last whole minute), 1h and 24h count the refusals by all services.`,
    );
    if (columns.length < tokenColumns(senders, undefined).length) terminal.note(tooNarrow);
  },
  async backups(session, { json: isJson }, terminal) {
    const { folder, fault, backups, leftOut } = await session.get<BackupList>('/api/backups');
    if (folder === null) return terminal.note(noFolder);
    const rows = backups.map(withKind);
    const columns = backupColumns(rows, terminal.width);
    if (rows.length > 0) await printRows(columns, rows, isJson, terminal);
    if (fault !== null) terminal.note(`The backups in ${folder} are not known: ${fault}.`);
    else if (backups.length === 0) terminal.note(`There is no backup in ${folder} yet.`);
    if (leftOut > 0) terminal.note(`${numberText(leftOut)} older backups are in ${folder}.`);
  },
  async settings(session, { json: isJson }, terminal) {
    const { configuration } = await overviewOf(session);
    const columns = settingColumns(configuration, terminal.width);
    await printRows(columns, configuration, isJson, terminal);
    if (!isJson && columns.length < settingColumns(configuration, undefined).length)
      terminal.note(tooNarrow);
  },
};

function noRequest(token = 'a client', since: Time): string {
  return `There is no request of ${token} since ${since}, the start of this service, and no refusal in 24 hours.`;
}

const tooNarrow =
  'The terminal is too narrow for all columns; "| less -S" after the command shows them.';

const noFolder =
  'The service has no folder for backups; a service with --backup-to FOLDER makes backups.';

function overviewOf(session: OperatorSession): Promise<Overview> {
  return session.get('/api/overview');
}

/** The first question since the start begins a count of the plants, which is worth a short wait. */
async function countedOverview(session: OperatorSession): Promise<Overview> {
  const deadlineMs = performance.now() + limits.cli.countMs;
  for (;;) {
    const overview = await overviewOf(session);
    if (overview.store.plants !== null || performance.now() >= deadlineMs) return overview;
    await setTimeout(limits.cli.countEveryMs);
  }
}

function historyOf(session: OperatorSession): Promise<History> {
  return session.get('/api/history');
}

/** Of 24 hours, with the minute that has begun. */
async function minutesOf(session: OperatorSession) {
  const { minutes, begun } = await historyOf(session);
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
