import { useMemo, useState } from 'preact/hooks';
import { numberText } from '../../../quantity-text.ts';
import type { RefusedRequest } from '../../contract.ts';
import type { PageProps } from './state.ts';
import {
  type Column,
  Copyable,
  choice,
  Dialog,
  ExactText,
  h,
  Loading,
  quiet,
  table,
  When,
} from './ui.ts';

const columnsWith = (open: (one: RefusedRequest) => void): readonly Column<RefusedRequest>[] => [
  { head: 'Time', cell: ({ at }) => h(When, { time: at }) },
  { head: 'Code', cell: ({ code }) => code },
  {
    head: 'Message',
    kind: 'message',
    cell: (one) => h('button', { onClick: () => open(one) }, h(ExactText, { text: one.message })),
  },
  {
    head: 'Client',
    kind: 'client',
    cell: ({ token }) =>
      token === null
        ? quiet('not known')
        : h('div', { title: token }, h(ExactText, { text: token })),
  },
  { head: 'Address', cell: ({ client }) => client },
  { head: 'Request', cell: ({ requestId }) => h('code', {}, requestId) },
];

const rowsShown = 100;

/** The last refusals, newest first, by code and by client. The address has the filter. */
export function Refusals({ state: { refusals }, query }: PageProps) {
  const [areAllShown, setAllShown] = useState(false);
  const [opened, setOpened] = useState<RefusedRequest | undefined>();
  const columns = useMemo(() => columnsWith(setOpened), []);
  const [code, client] = [query.get('code') ?? '', query.get('client') ?? ''];
  const found = useMemo(
    () =>
      (refusals ?? [])
        .filter((one) => ['', `${one.code}`].includes(code))
        .filter((one) => ['', clientOf(one)].includes(client))
        .toReversed(),
    [refusals, code, client],
  );
  if (!refusals) return h(Loading, {});
  const foundText = numberText(found.length);
  const filter = (change: Record<string, string>) => {
    const wanted = Object.entries({ code, client, ...change }).filter(([, value]) => value !== '');
    location.hash = `#/refusals?${new URLSearchParams(wanted)}`;
  };
  const filtered = [
    ['Code', 'code', refusals.map((one) => `${one.code}`), code],
    ['Client', 'client', refusals.map(clientOf), client],
  ] as const;
  const rows = areAllShown ? found : found.slice(0, rowsShown);
  return [
    h(
      'form',
      { class: 'filters beside', role: 'search' },
      filtered.map(([label, name, values, chosen]) => {
        const onChange = ({ currentTarget }: { currentTarget: HTMLSelectElement }) =>
          filter({ [name]: currentTarget.value });
        return choice(label, choicesOf(values, chosen), { onChange }, chosen);
      }),
      h('output', { class: 'quiet' }, `${foundText} of the last ${numberText(refusals.length)}`),
    ),
    found.length === 0
      ? h('p', { class: 'quiet' }, 'No refusal since the start of the service matches.')
      : table({ caption: 'Refusals', columns, rows, rowKey: ({ requestId }) => requestId }),
    rows.length < found.length &&
      h('button', { onClick: () => setAllShown(true) }, `Show all ${foundText}`),
    opened && h(OneRefusal, { refusal: opened, onClose: () => setOpened(undefined) }),
  ];
}

function OneRefusal({ refusal, onClose }: { refusal: RefusedRequest; onClose: () => void }) {
  const { at, code, message, token, client, requestId } = refusal;
  const facts = { Time: at, Code: code, Client: token ?? 'not known', Address: client };
  const lines = Object.entries({ ...facts, Request: requestId, Message: message });
  const text = lines.map(([name, says]) => `${name}: ${says}`).join('\n');
  const children = [
    h(Copyable, { label: 'Refusal', text }),
    h('p', { class: 'actions' }, h('button', { class: 'main', onClick: onClose }, 'Close')),
  ];
  return h(Dialog, { title: 'Refusal', onClose, children });
}

/** Who has sent a request: the name of the token, or else the address. */
function clientOf({ token, client }: RefusedRequest): string {
  return token ?? client;
}

/** All values, the most frequent first, with their numbers. */
function choicesOf(values: readonly string[], chosen: string) {
  const numbers = new Map(chosen === '' ? [] : [[chosen, 0]]);
  for (const value of values) numbers.set(value, (numbers.get(value) ?? 0) + 1);
  const sorted = [...numbers].toSorted(([, one], [, other]) => other - one);
  return [
    { value: '', text: 'all' },
    ...sorted.map(([value, number]) => ({ value, text: `${value} (${numberText(number)})` })),
  ];
}
