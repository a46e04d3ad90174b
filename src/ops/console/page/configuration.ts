import type { Setting } from '../../contract.ts';
import { type Column, Skeleton, Table } from './components.ts';
import { html } from './html.ts';

const columns: readonly Column<Setting>[] = [
  { head: 'Setting', cell: ({ name }) => html`<code>--${name}</code>` },
  { head: 'In force', cell: valueCell },
  { head: 'From', cell: sourceCell },
];

function valueCell({ value, inForce }: Setting) {
  if (inForce === null) return html`<code>${value}</code>`;
  return html`<code>${inForce}</code> <span class="quiet">from <code>${value}</code></span>`;
}

function sourceCell({ name, value, default: usual, source }: Setting) {
  if (source === 'default') return html`<span class="badge">default</span>`;
  const instead =
    usual !== null && html` <span class="quiet">The default is <code>${usual}</code>.</span>`;
  const from = source === 'flag' ? 'the flag' : html`<code>${variableOf(name)}</code>`;
  const isOther = value !== usual;
  return html`<span class="badge ${isOther ? 'changed' : ''}">${from}</span>${isOther && instead}`;
}

function variableOf(name: string): string {
  return `PLANT_STORE_${name.toUpperCase().replaceAll('-', '_')}`;
}

export function Configuration({ settings }: { settings: readonly Setting[] | undefined }) {
  return html`
    <p class="lead">In force since the service was started, from its flags and environment. A change takes a restart.</p>
    ${!settings && html`<${Skeleton} rows=${12} />`}
    ${settings && html`<${Table} caption="Configuration in force" columns=${columns} rows=${settings} rowKey=${({ name }: Setting) => name} />`}`;
}
