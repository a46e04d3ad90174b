import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  ChangedRate,
  CreatedToken,
  NewToken,
  RateWish,
  RotatedToken,
  Rotation,
  Token,
} from '../../contract.ts';
import type { PageProps, Store } from './state.ts';
import {
  Badge,
  type Children,
  type Column,
  choice,
  count,
  Dialog,
  Distance,
  ExactText,
  Form,
  field,
  h,
  Loading,
  localText,
  Result,
  table,
  useAct,
} from './ui.ts';

type Opened = 'create' | { readonly what: 'rotate' | 'rate' | 'revoke'; readonly token: Token };

export function Tokens({ store, state: { tokens, session } }: PageProps) {
  const [opened, setOpened] = useState<Opened | undefined>();
  const [done, setDone] = useState('');
  if (!tokens) return h(Loading, {});
  const close = (says = '') => {
    setOpened(undefined);
    setDone(says);
    store.refresh();
  };
  const own = typeof session === 'object' && 'name' in session ? session.name : '';
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
      'New plants and refusals are those of this service since its start, ',
      h(Distance, { time: since }),
      '.',
      leftOut > 0 && ` ${count(leftOut)} older expired and revoked tokens are not shown.`,
    ),
    opened === 'create' && h(CreateDialog, { store, onClose: close }),
    typeof opened === 'object' &&
      h(dialogs[opened.what], {
        store,
        token: opened.token,
        isOwn: opened.token.name === own,
        onClose: close,
      }),
  ];
}

/** Tokens that have ended come last. */
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
    {
      head: 'State',
      kind: 'state',
      cell: ({ state, expiresSoon }) =>
        expiresSoon
          ? h(Badge, { tone: 'warning', text: `${state}, ends soon` })
          : h(Badge, { tone: toneOf[state], text: state }),
    },
    {
      head: 'Role',
      kind: 'role',
      cell: ({ role, rate }) => (rate === null ? role : `${role}, ${rate}`),
    },
    {
      head: 'New plants',
      kind: 'number',
      cell: ({ figures }) => (figures ? count(figures.created) : '–'),
    },
    {
      head: 'Refused',
      kind: 'number',
      cell: ({ figures, name }) =>
        figures && figures.refused > 0
          ? h(
              'a',
              { href: `#/refusals?${new URLSearchParams({ client: name })}` },
              count(figures.refused),
            )
          : '–',
    },
    {
      head: 'Last used',
      kind: 'distance',
      cell: ({ lastUsedAt }) => h(Distance, { time: lastUsedAt, or: 'never' }),
    },
    {
      head: 'End',
      kind: 'distance',
      cell: ({ revokedAt, expiresAt }) => h(Distance, { time: revokedAt ?? expiresAt, or: 'none' }),
    },
    { head: 'Change', kind: 'change', cell: (token) => changesOf(token, open) },
  ];
}

function changesOf(token: Token, open: (opened: Opened) => void): Children {
  if (token.state !== 'valid') return undefined;
  const button = (what: 'rotate' | 'rate' | 'revoke', verb: string) =>
    h(
      'button',
      { 'aria-label': `${verb} ${token.name}`, onClick: () => open({ what, token }) },
      verb,
    );
  return [
    button('rotate', 'Rotate'),
    token.role === 'create' && button('rate', 'Rate'),
    button('revoke', 'Revoke'),
  ];
}

interface CreateDialogProps {
  readonly store: Store;
  /** @param says what was done */
  readonly onClose: (says?: string) => void;
}

function CreateDialog({ store, onClose }: CreateDialogProps) {
  const act = useAct();
  const [secret, setSecret] = useState<CreatedToken | undefined>();
  if (secret) return h(SecretDialog, { key: 'secret', secret, onClose });
  const roles = [
    { value: 'create', text: 'create plants' },
    { value: 'operate', text: 'operate the service' },
  ];
  const create = async (form: FormData) => {
    const role = form.get('role') as NewToken['role'];
    const body: NewToken = {
      name: `${form.get('name')}`,
      role,
      expiresInDays: numberIn(form, 'days'),
      ...(role === 'create' ? rateIn(form) : {}),
    };
    setSecret(await store.ask<CreatedToken>('POST', '/tokens', { body }));
  };
  const children = [
    field('Name', { name: 'name', required: true, autoFocus: true }),
    choice('Role', roles, { name: 'role' }),
    daysField('Days until it expires (empty: never)'),
    rateFields(),
  ];
  const form = h(Form, { act, verb: 'Create', onSubmit: create, onCancel: onClose, children });
  return h(Dialog, { key: 'form', title: 'Create a token', onClose, children: form });
}

interface TokenDialogProps extends CreateDialogProps {
  readonly token: Token;
  /** Whether the operator has signed in with this token. */
  readonly isOwn: boolean;
}

const graces = [
  { value: '24', text: 'for a day' },
  { value: '0', text: 'not at all: it has leaked' },
  { value: '1', text: 'for an hour' },
  { value: '168', text: 'for a week' },
  { value: '720', text: 'for 30 days' },
];

function RotateDialog({ store, token, isOwn, onClose }: TokenDialogProps) {
  const act = useAct();
  const [secret, setSecret] = useState<RotatedToken | undefined>();
  if (secret) {
    const { previousUntil } = secret;
    const until = previousUntil === null ? 'has ended' : `ends at ${localText(previousUntil)}`;
    const children = h('p', {}, `The old secret ${until}.`);
    return h(SecretDialog, { key: 'secret', secret, onClose, children });
  }
  const { name, expiresAt } = token;
  const rotate = async (form: FormData) => {
    const expiresInDays = numberIn(form, 'days');
    const body: Rotation = { name, graceHours: Number(form.get('grace')), expiresInDays };
    setSecret(await store.ask<RotatedToken>('POST', '/tokens/rotation', { body }));
  };
  const life = expiresAt === null ? 'never' : 'a term as long as the last one';
  const children = [
    h('p', {}, named(name), ' gets a new secret, and keeps its role and its rate.'),
    choice('The old secret stays in force', graces, { name: 'grace', autoFocus: true }),
    daysField(`Days until the new secret expires (empty: ${life})`),
    isOwn && h('p', {}, 'You have signed in with it: your session ends with the old secret.'),
  ];
  const form = h(Form, { act, verb: 'Rotate', onSubmit: rotate, onCancel: onClose, children });
  return h(Dialog, { key: 'form', title: 'Rotate the token', onClose, children: form });
}

function RateDialog({ store, token, onClose }: TokenDialogProps) {
  const act = useAct();
  const { name } = token;
  const change = async (form: FormData) => {
    const path = `/tokens?name=${encodeURIComponent(name)}`;
    const { rate } = await store.ask<ChangedRate>('PATCH', path, { body: rateIn(form) });
    onClose(`${name} may send ${rate ?? 'as many creates as the service takes'}.`);
  };
  const children = [
    h('p', {}, 'All services use the new rate of ', named(name), ' within 2 seconds.'),
    rateFields(token),
  ];
  const form = h(Form, { act, verb: 'Change', onSubmit: change, onCancel: onClose, children });
  return h(Dialog, { title: 'Change the rate', onClose, children: form });
}

function RevokeDialog({ store, token, isOwn, onClose }: TokenDialogProps) {
  const act = useAct();
  const { name, lastUsedAt } = token;
  const revoke = async () => {
    await store.ask('DELETE', `/tokens?name=${encodeURIComponent(name)}`);
    onClose(`${name} is revoked.`);
  };
  const children = [
    h('p', {}, 'Clients with ', named(name), ' are refused within 2 seconds, for good.'),
    h('p', {}, 'Last used: ', h(Distance, { time: lastUsedAt, or: 'never' })),
    isOwn && h('p', {}, 'You have signed in with it, and will be signed out.'),
  ];
  const form = h(Form, {
    ...{ act, verb: 'Revoke', isDangerous: true, onSubmit: revoke, onCancel: onClose, children },
  });
  return h(Dialog, { title: 'Revoke the token?', onClose, children: form });
}

const dialogs = { rotate: RotateDialog, rate: RateDialog, revoke: RevokeDialog };

interface SecretDialogProps {
  readonly secret: CreatedToken;
  readonly onClose: () => void;
  readonly children?: Children;
}

/** The only place where a secret is shown. */
function SecretDialog({ secret: { name, token }, onClose, children }: SecretDialogProps) {
  const input = useRef<HTMLInputElement>(null);
  const [says, setSays] = useState('');
  useEffect(() => input.current?.select(), []);
  const copy = () => {
    input.current?.select();
    // A page has a clipboard only by TLS or from this machine.
    const copying = navigator.clipboard?.writeText(token) ?? Promise.reject();
    copying.then(
      () => setSays('Copied.'),
      () => setSays('The secret is selected: press Ctrl+C.'),
    );
  };
  const secret = h('input', {
    ref: input,
    class: 'mono',
    readOnly: true,
    'aria-label': 'Secret',
    value: token,
  });
  const content = [
    h('p', {}, 'The secret of ', named(name), '. It is shown only now.'),
    h('div', { class: 'row' }, secret, h('button', { onClick: copy }, 'Copy')),
    h(Result, { says }),
    children,
    h(
      'p',
      { class: 'actions' },
      h('button', { class: 'main', onClick: onClose }, 'I have kept it'),
    ),
  ];
  return h(Dialog, { title: 'Keep the secret', isKept: true, onClose, children: content });
}

function named(name: string): Children {
  return h('b', {}, h(ExactText, { text: name }));
}

function daysField(label: string) {
  return field(label, { name: 'days', type: 'number', min: 1, step: 1 });
}

function rateFields({ rate, burst }: Pick<Token, 'rate' | 'burst'> = { rate: null, burst: null }) {
  return [
    field('Creates to each node, such as 100/s, 60/m or 1000/h (empty: any number)', {
      name: 'rate',
      defaultValue: rate ?? '',
    }),
    field('Creates at once after a pause (empty: the number in the rate)', {
      ...{ name: 'burst', type: 'number', min: 1, step: 1 },
      // An empty field lets the burst follow a new rate.
      defaultValue: burst === null || rate?.startsWith(`${burst}/`) ? '' : `${burst}`,
    }),
  ];
}

function rateIn(form: FormData): RateWish {
  return { rate: `${form.get('rate')}`.trim() || null, burst: numberIn(form, 'burst') };
}

/** Null for an empty field. */
function numberIn(form: FormData, name: string): number | null {
  const text = `${form.get(name)}`;
  return text === '' ? null : Number(text);
}
