import type { Setting } from '../../contract.ts';
import type { PageProps } from './state.ts';
import { Badge, type Column, h, Loading, quiet, table } from './ui.ts';

const columns: readonly Column<Setting>[] = [
  { head: 'Flag', cell: ({ name }) => h('code', {}, `--${name}`) },
  {
    head: 'Value in force',
    kind: 'value',
    cell: ({ value, inForce }) => [
      h('code', {}, inForce ?? value),
      inForce !== null && quiet(` from ${value}`),
    ],
  },
  {
    head: 'Origin',
    cell: ({ source }) =>
      source === 'default' ? quiet(source) : h(Badge, { tone: 'good', text: source }),
  },
  {
    head: 'Default',
    cell: (setting) => (setting.default === null ? quiet('none') : h('code', {}, setting.default)),
  },
];

export function Settings({ state: { settings } }: PageProps) {
  if (!settings) return h(Loading, {});
  const caption = 'Settings in force';
  return table({ caption, columns, rows: settings, rowKey: ({ name }) => name });
}
