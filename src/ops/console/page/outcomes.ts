import type { Overview, Tally } from '../../contract.ts';
import { type Column, Table } from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';
import { titleOf } from './refusal.ts';

interface Outcome extends Tally {
  readonly name: string;
  readonly means: string;
}

const tallies = [
  { head: 'Last minute', cell: ({ lastMinute }: Tally) => count(lastMinute), isNumber: true },
  { head: 'Since the start', cell: ({ total }: Tally) => count(total), isNumber: true },
] as const;

const outcomeColumns: readonly Column<Outcome>[] = [
  { head: 'Outcome', cell: ({ name, means }) => html`${name} <span class="quiet">${means}</span>` },
  ...tallies,
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

type Refused = Overview['refusals'][number];

const codeColumns: readonly Column<Refused>[] = [
  {
    head: 'Code',
    cell: ({ code }) => html`<a href="#/refusals?code=${code}">${code} ${titleOf(code)}</a>`,
  },
  ...tallies,
];

/** Refusals by code. */
export function RefusedCodes({ refusals }: Pick<Overview, 'refusals'>) {
  if (refusals.length === 0)
    return html`<p class="quiet">No request was refused since the start of the service.</p>`;
  return html`<${Table} caption="Refusals by code" columns=${codeColumns} rows=${refusals} rowKey=${({ code }: Refused) => `${code}`} />`;
}
