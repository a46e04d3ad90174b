import { problemTitle } from '../../../contract/problems.ts';
import type { Minute, Overview, Tally } from '../../contract.ts';
import { type RefusalRow, refusalRows } from '../../history-figures.ts';
import { type Column, Table } from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';

interface Outcome extends Tally {
  readonly name: string;
  readonly means: string;
}

const outcomeColumns: readonly Column<Outcome>[] = [
  { head: 'Outcome', cell: ({ name, means }) => html`${name} <span class="quiet">${means}</span>` },
  { head: 'Last minute', cell: ({ lastMinute }) => count(lastMinute), isNumber: true },
  { head: 'Since the start', cell: ({ total }) => count(total), isNumber: true },
];

const meanings = {
  created: 'a new plant',
  same: 'a retry',
  taken: 'the id belongs to another plant',
  failed: 'the store did not take the plant',
} as const;

const names = ['created', 'same', 'taken', 'failed'] as const;

/** Creates by outcome. */
export function Outcomes({ creates }: Pick<Overview, 'creates'>) {
  const rows = names.map((name) => ({ name, means: meanings[name], ...creates[name] }));
  return html`<${Table} caption="Creates by outcome" columns=${outcomeColumns} rows=${rows} rowKey=${({ name }: Outcome) => name} />`;
}

const codeColumns: readonly Column<RefusalRow>[] = [
  {
    head: 'Code',
    cell: ({ code }) => html`<a href="#/refusals?code=${code}">${code} ${problemTitle(code)}</a>`,
  },
  { head: 'Last minute', cell: ({ lastMinute }) => count(lastMinute), isNumber: true },
  { head: 'Last hour', cell: ({ lastHour }) => count(lastHour), isNumber: true },
  { head: '24 hours', cell: ({ last24Hours }) => count(last24Hours), isNumber: true },
  { head: 'Since the start', cell: ({ total }) => count(total), isNumber: true },
];

interface RefusedCodesProps extends Pick<Overview, 'refusals'> {
  readonly minutes: readonly Minute[];
}

/** Refusals by code: of this service now, and of all services in the last 24 hours. */
export function RefusedCodes({ refusals, minutes }: RefusedCodesProps) {
  const rows = refusalRows(refusals, minutes);
  if (rows.length === 0)
    return html`<p class="quiet">No request was refused in the last 24 hours.</p>`;
  return html`
    <div><${Table} caption="Refusals by code" columns=${codeColumns} rows=${rows} rowKey=${({ code }: RefusalRow) => `${code}`} /></div>
    <p class="quiet">The hour and the 24 hours count all services, also before the start. The other columns count this service.</p>`;
}
