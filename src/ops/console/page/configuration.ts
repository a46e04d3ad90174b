import type { Setting } from '../../contract.ts';
import { type Column, Skeleton, Table } from './components.ts';
import { html } from './html.ts';

const columns: readonly Column<Setting>[] = [
  { head: 'Setting', cell: ({ name }) => html`<code>--${name}</code>` },
  { head: 'Value', cell: ({ value }) => html`<code>${value}</code>` },
  { head: 'Default', cell: defaultCell },
];

function defaultCell({ value, default: usual }: Setting) {
  if (value === usual) return html`<span class="badge">default</span>`;
  return html`<span class="badge changed">changed</span> <span class="quiet">${usual === null ? 'has no default' : html`from <code>${usual}</code>`}</span>`;
}

export function Configuration({ settings }: { settings: readonly Setting[] | undefined }) {
  return html`
    <p class="lead">In force since the service was started, from its flags and environment. A change takes a restart.</p>
    ${!settings && html`<${Skeleton} rows=${12} />`}
    ${settings && html`<${Table} caption="Configuration in force" columns=${columns} rows=${settings} rowKey=${({ name }: Setting) => name} />`}`;
}
