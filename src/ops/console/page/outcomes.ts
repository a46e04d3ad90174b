import { problemTitle } from '../../../contract/problems.ts';
import type { Minute, Overview } from '../../contract.ts';
import {
  type Counts,
  type OutcomeRow,
  outcomeRows,
  type RefusalRow,
  refusalRows,
} from '../../history-figures.ts';
import { type Column, Table } from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';
import { historyPath } from './router.ts';

const countColumns: readonly Column<Counts>[] = [
  { head: 'Last minute', cell: ({ lastMinute }) => count(lastMinute), isNumber: true },
  { head: 'Last hour', cell: ({ lastHour }) => count(lastHour), isNumber: true },
  { head: '24 hours', cell: ({ last24Hours }) => count(last24Hours), isNumber: true },
  { head: 'Since the start', cell: ({ total }) => count(total), isNumber: true },
];

const meanings = {
  created: 'a new plant',
  same: 'a retry',
  taken: 'the id belongs to another plant',
  failed: 'the store did not take the plant',
} as const;

const outcomeColumns: readonly Column<OutcomeRow>[] = [
  {
    head: 'Outcome',
    cell: ({ outcome }) => html`${outcome} <span class="quiet">${meanings[outcome]}</span>`,
  },
  ...countColumns,
];

interface WithHistory {
  readonly minutes: readonly Minute[];
}

/** Creates by outcome: of this service now, and of all services in the last 24 hours. */
export function Outcomes({ creates, minutes }: Pick<Overview, 'creates'> & WithHistory) {
  return html`
    <${Table} caption="Creates by outcome" columns=${outcomeColumns} rows=${outcomeRows(creates, minutes)} rowKey=${({ outcome }: OutcomeRow) => outcome} />
    <p class="quiet">The hour and the 24 hours count all services, also before the start. The other columns count this service. Imports are not counted.</p>`;
}

const codeColumns: readonly Column<RefusalRow>[] = [
  {
    head: 'Code',
    cell: ({ code }) => html`<a href="#/refusals?code=${code}">${code} ${problemTitle(code)}</a>`,
  },
  ...countColumns.map(
    (column): Column<RefusalRow> =>
      column.head === '24 hours' ? { ...column, cell: inDay } : column,
  ),
];

function inDay({ code, last24Hours }: RefusalRow) {
  const text = count(last24Hours);
  if (last24Hours === 0) return text;
  return html`<a class="own" href=${historyPath({ code: `${code}` })} title="When, and of whom">${text}</a>`;
}

/** Refusals by code: of this service now, and of all services in the last 24 hours. */
export function RefusedCodes({ refusals, minutes }: Pick<Overview, 'refusals'> & WithHistory) {
  const rows = refusalRows(refusals, minutes);
  if (rows.length === 0)
    return html`<p class="quiet">No request was refused in the last 24 hours.</p>`;
  return html`<${Table} caption="Refusals by code" columns=${codeColumns} rows=${rows} rowKey=${({ code }: RefusalRow) => `${code}`} />`;
}
