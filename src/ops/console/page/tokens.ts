import { useState } from 'preact/hooks';
import { numberText, typedRate } from '../../../quantity-text.ts';
import type {
  CreatedToken,
  NewRate,
  NewToken,
  RotatedToken,
  Rotation,
  Token,
} from '../../contract.ts';
import type { PageProps, Service } from './state.ts';
import {
  Badge,
  type Children,
  type Column,
  Copyable,
  choice,
  Dialog,
  Distance,
  ExactText,
  FormDialog,
  field,
  h,
  Loading,
  localText,
  quiet,
  Result,
  table,
} from './ui.ts';

type Change = 'limit' | 'rotate' | 'revoke';

type Opened = 'create' | Secret | { readonly what: Change; readonly token: Token };

/** A new secret, with what there is to say of the one before. */
type Secret = CreatedToken & { readonly says?: string };

export function Tokens({ service, state: { tokens } }: PageProps) {
  const [opened, setOpened] = useState<Opened | undefined>();
  const [done, setDone] = useState('');
  if (!tokens) return h(Loading, {});
  const onClose = (says = '') => {
    setOpened(undefined);
    setDone(says);
    service.refresh();
  };
  const dialogOf = (one: Opened) => {
    if (one === 'create') return h(CreateDialog, { service, onSecret: setOpened, onClose });
    if (!('what' in one)) return h(SecretDialog, { ...one, onClose });
    const { what, token } = one;
    return h(dialogs[what], { service, token, onSecret: setOpened, onClose });
  };
  const { since, leftOut } = tokens;
  return [
    h('button', { class: 'main beside', onClick: () => setOpened('create') }, 'Create a token'),
    h(Result, { says: done }),
    table({
      caption: 'Tokens',
      columns: columnsWith(setOpened),
      rows: tokens.tokens.toSorted(byStateAndName),
      rowKey: ({ name, createdAt }) => `${createdAt} ${name}`,
    }),
    h(
      'p',
      { class: 'quiet' },
      'New plants and refusals count since the start of this service, ',
      h(Distance, { time: since }),
      '.',
      leftOut > 0 && ` ${numberText(leftOut)} older expired and revoked tokens are not shown.`,
    ),
    opened && dialogOf(opened),
  ];
}

function byStateAndName(one: Token, other: Token): number {
  return (
    Number(hasEnded(one)) - Number(hasEnded(other)) ||
    one.name.localeCompare(other.name, 'en', { numeric: true })
  );
}

function hasEnded({ state }: Token): boolean {
  return state === 'expired' || state === 'revoked';
}

const toneOf = { valid: 'good', rotated: 'warning', expired: '', revoked: '' } as const;

function columnsWith(open: (opened: Opened) => void): readonly Column<Token>[] {
  return [
    { head: 'Name', kind: 'name', cell: ({ name }) => h(ExactText, { text: name }) },
    { head: 'Role', cell: ({ role }) => role },
    { head: 'State', cell: stateOf },
    { head: 'Created', cell: ({ createdAt }) => h(Distance, { time: createdAt }) },
    {
      head: 'Ends',
      cell: ({ revokedAt, expiresAt }) =>
        h(Distance, { time: revokedAt ?? expiresAt, or: 'never' }),
    },
    { head: 'Last used', cell: ({ lastUsedAt }) => h(Distance, { time: lastUsedAt, or: 'never' }) },
    { head: 'Rate', cell: (token) => rateOf(token) || quiet('any') },
    {
      head: 'By',
      kind: 'client',
      cell: ({ createdBy }) => createdBy && h('div', { title: createdBy }, createdBy),
    },
    {
      head: 'New plants',
      kind: 'number',
      cell: ({ figures }) => (figures ? numberText(figures.created) : '–'),
    },
    { head: 'Refused', kind: 'number', cell: refusedOf },
    { head: 'Change', kind: 'change', cell: (token) => changesOf(token, open) },
  ];
}

function stateOf({ state, expiresSoon }: Token): Children {
  return expiresSoon
    ? h(Badge, { tone: 'warning', text: `${state}, ends soon` })
    : h(Badge, { tone: toneOf[state], text: state });
}

function rateOf({ rate, burst }: Token): string {
  return rate && burst ? typedRate(rate, burst) : '';
}

function refusedOf({ figures, name }: Token): Children {
  if (!figures?.refused) return '–';
  const href = `#/refusals?${new URLSearchParams({ client: name })}`;
  return h('a', { href }, numberText(figures.refused));
}

function changesOf(token: Token, open: (opened: Opened) => void): Children {
  if (token.state !== 'valid') return undefined;
  const button = (what: Change, verb: string) =>
    h(
      'button',
      { 'aria-label': `${verb} ${token.name}`, onClick: () => open({ what, token }) },
      verb,
    );
  const limit = token.role === 'create' && button('limit', 'Limit');
  return [limit, button('rotate', 'Rotate'), button('revoke', 'Revoke')];
}

interface CreateProps {
  readonly service: Service;
  readonly onSecret: (secret: Secret) => void;
  readonly onClose: (says?: string) => void;
}

function CreateDialog({ service, onSecret, onClose }: CreateProps) {
  const roles = [
    { value: 'create', text: 'create plants' },
    { value: 'operate', text: 'operate the service' },
  ];
  const onSubmit = async (form: FormData) => {
    const role = form.get('role') as NewToken['role'];
    const name = `${form.get('name')}`;
    const body: NewToken = { name, role, expiresInDays: daysIn(form), rate: rateIn(form) };
    onSecret(await service.ask<CreatedToken>('POST', '/tokens', { body }));
  };
  const children = [
    field('Name', { name: 'name', required: true, autoFocus: true }),
    choice('Role', roles, { name: 'role' }),
    daysField('Days until it expires (empty: never)'),
    rateField(''),
  ];
  return h(FormDialog, { title: 'Create a token', verb: 'Create', onSubmit, onClose, children });
}

interface ChangeProps extends CreateProps {
  readonly token: Token;
}

const graces = [
  { value: '24', text: 'for a day' },
  { value: '0', text: 'not at all: it has leaked' },
  { value: '1', text: 'for an hour' },
  { value: '168', text: 'for a week' },
  { value: '720', text: 'for 30 days' },
];

function LimitDialog({ service, token, onClose }: ChangeProps) {
  const { name } = token;
  const onSubmit = async (form: FormData) => {
    const rate = rateIn(form);
    await service.ask('POST', '/tokens/rate', { body: { name, rate } satisfies NewRate });
    onClose(`${name} may send ${rate ?? 'any rate'}. The service knows within 2 seconds.`);
  };
  const children = [
    h('p', {}, 'How many creates ', named(name), ' may send to each node.'),
    rateField(rateOf(token)),
  ];
  return h(FormDialog, { title: 'Limit the token', verb: 'Limit', onSubmit, onClose, children });
}

function RotateDialog({ service, token, onSecret, onClose }: ChangeProps) {
  const { name, expiresAt } = token;
  const onSubmit = async (form: FormData) => {
    const graceHours = Number(form.get('grace'));
    const body: Rotation = { name, graceHours, expiresInDays: daysIn(form) };
    const rotated = await service.ask<RotatedToken>('POST', '/tokens/rotation', { body });
    const { previousUntil: until } = rotated;
    const end = until === null ? 'has ended' : `ends at ${localText(until)}`;
    onSecret({ ...rotated, says: `The old secret ${end}.` });
  };
  const life = expiresAt === null ? 'never' : 'a term as long as the last one';
  const children = [
    h('p', {}, named(name), ' gets a new secret, and keeps its role and its rate.'),
    choice('The old secret stays in force', graces, { name: 'grace', autoFocus: true }),
    daysField(`Days until the new secret expires (empty: ${life})`),
  ];
  return h(FormDialog, { title: 'Rotate the token', verb: 'Rotate', onSubmit, onClose, children });
}

function RevokeDialog({ service, token, onClose }: ChangeProps) {
  const { name, lastUsedAt } = token;
  const onSubmit = async () => {
    await service.ask('DELETE', `/tokens?name=${encodeURIComponent(name)}`);
    onClose(`${name} is revoked.`);
  };
  const children = [
    h('p', {}, 'Clients with ', named(name), ' are refused within 2 seconds, for good.'),
    h('p', {}, 'Last used: ', h(Distance, { time: lastUsedAt, or: 'never' })),
  ];
  const props = { title: 'Revoke the token?', verb: 'Revoke', isDangerous: true };
  return h(FormDialog, { ...props, onSubmit, onClose, children });
}

const dialogs = { limit: LimitDialog, rotate: RotateDialog, revoke: RevokeDialog };

function SecretDialog({ name, token, says, onClose }: Secret & Pick<CreateProps, 'onClose'>) {
  const children = [
    h('p', {}, 'The secret of ', named(name), '. It is shown only now.'),
    h(Copyable, { label: 'Secret', text: token }),
    says && h('p', {}, says),
    h(
      'p',
      { class: 'actions' },
      h('button', { class: 'main', onClick: () => onClose() }, 'I have kept it'),
    ),
  ];
  return h(Dialog, { title: 'Keep the secret', isKept: true, onClose, children });
}

function named(name: string): Children {
  return h('b', {}, h(ExactText, { text: name }));
}

function daysField(label: string) {
  return field(label, { name: 'days', type: 'number', min: 1, step: 1 });
}

function daysIn(form: FormData): number | null {
  const text = `${form.get('days')}`;
  return text === '' ? null : Number(text);
}

function rateField(rate: string) {
  const label = 'Rate, such as 60/m, or 100/s:500 for 500 at once (empty: any)';
  return field(label, { name: 'rate', defaultValue: rate });
}

function rateIn(form: FormData): string | null {
  return `${form.get('rate')}`.trim() || null;
}
