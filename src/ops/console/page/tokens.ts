import { useEffect, useState } from 'preact/hooks';
import { problems } from '../../../contract/problems.ts';
import { limits } from '../../../limits.ts';
import { byName } from '../../../store/tokens.ts';
import type { OtherCaller, Token } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Column, ExactText, Failure, Result, Skeleton, Table, When } from './components.ts';
import { html } from './html.ts';
import { InspectTokenDialog } from './inspect-token.ts';
import { NewTokenDialog } from './new-token.ts';
import { tokenPath } from './router.ts';
import {
  End,
  figureOf,
  type Opened,
  State,
  TokenActions,
  useTokenDialogs,
  useTokens,
} from './token-list.ts';

interface TokensProps {
  readonly api: Api;
  readonly signedInAs: string;
}

export function Tokens({ api, signedInAs }: TokensProps) {
  const { list, error, refresh } = useTokens(api);
  const { dialog, result, setResult, open } = useTokenDialogs(api, signedInAs, list, refresh);
  const [isCreating, setCreating] = useState(false);
  const [isInspecting, setInspecting] = useState(false);
  const [order, setOrder] = useState<Order>({ by: 'name', isReversed: false });
  // The button of a revoked token is gone, and the focus with it.
  useEffect(() => {
    if (result !== '' && document.activeElement === document.body)
      document.querySelector('h1')?.focus();
  }, [list]);
  const closeNew = (done: string) => {
    setCreating(false);
    setResult(done);
    refresh();
  };
  return html`
    <button class="beside main" onClick=${() => setCreating(true)}>Create a token</button>
    <p class="lead">Clients create plants with a token; operators sign in here with one.${' '}
      <button class="small" onClick=${() => setInspecting(true)}>Whose token is it?</button></p>
    <${Failure} error=${error} />
    <${Result}>${result}<//>
    ${!list && !error && html`<${Skeleton} rows=${6} />`}
    ${list && html`<${Attention} tokens=${list.tokens} />`}
    ${list && html`<div class="tokens"><${Table} caption="Tokens" columns=${columnsWith(open, order, setOrder)} rows=${ordered(shownOf(list.tokens), order)} rowKey=${keyOf} /></div>`}
    ${list && list.leftOut > 0 && html`<p>Older expired and revoked tokens: ${list.leftOut}. <code>plant-store token list</code> shows all.</p>`}
    ${list && list.otherCallers.length > 0 && html`<h2>Callers without a token of the store</h2><${Table} caption="Callers without a token of the store" columns=${callerColumns} rows=${list.otherCallers} rowKey=${({ name }: OtherCaller) => name} />`}
    ${list && html`<p class="quiet">New plants and refusals are those of this service since its start, <${When} time=${list.since} />.</p>`}
    ${isCreating && html`<${NewTokenDialog} api=${api} onClose=${closeNew} />`}
    ${isInspecting && html`<${InspectTokenDialog} api=${api} onClose=${() => setInspecting(false)} />`}
    ${dialog}`;
}

/** Of a name, the newest secret, and those that are in force or in use. The page of a token has all. */
function shownOf(tokens: readonly Token[]): readonly Token[] {
  return byName(tokens).filter(
    ({ name, state, figures }, index, all) =>
      all[index - 1]?.name !== name || state === 'rotated' || figures !== null,
  );
}

type Key = string | number;

interface Order {
  readonly by: keyof typeof orders;
  readonly isReversed: boolean;
}

/** What the rows are ordered by, and the direction of the first press. */
const orders = {
  name: { keyOf: ({ name }: Token) => name, isReversed: false },
  refused: { keyOf: ({ figures }: Token) => figures?.refused ?? -1, isReversed: true },
  lastUsed: { keyOf: ({ lastUsedAt }: Token) => lastUsedAt ?? '', isReversed: true },
  ends: {
    keyOf: ({ revokedAt, expiresAt }: Token) => revokedAt ?? expiresAt ?? 'never',
    isReversed: false,
  },
} as const;

/** Tokens that have ended come last in each order. */
function ordered(tokens: readonly Token[], { by, isReversed }: Order): readonly Token[] {
  const keyOf: (token: Token) => Key = orders[by].keyOf;
  const sign = isReversed ? -1 : 1;
  const compare = (one: Key, other: Key) => sign * (Number(one > other) - Number(one < other));
  return tokens.toSorted(
    (one, other) =>
      Number(hasEnded(one)) - Number(hasEnded(other)) || compare(keyOf(one), keyOf(other)),
  );
}

function hasEnded({ state }: Token): boolean {
  return state === 'expired' || state === 'revoked';
}

/** Tokens that end soon, and tokens that have ended and that clients still send. */
function Attention({ tokens }: { tokens: readonly Token[] }) {
  const days = limits.access.tokenExpiresSoonMs / 86_400_000;
  const soon = tokens.filter(({ expiresSoon }) => expiresSoon);
  const notes = [
    {
      about: `These tokens expire within ${days} days. Rotate a token that is still needed, and give its clients the new secret.`,
      of: soon.filter(({ state }) => state !== 'rotated'),
    },
    {
      about: `The old secrets of these tokens end within ${days} days, and are still in use. Their clients must move to the new secret.`,
      of: soon.filter(({ state }) => state === 'rotated'),
    },
    {
      about:
        'Clients have sent these expired or revoked tokens since the start. Each request was refused.',
      of: tokens.filter((token) => hasEnded(token) && isSent(token)),
    },
  ].filter(({ of }) => of.length > 0);
  if (notes.length === 0) return null;
  return html`
    <div class="note changed">
      ${notes.map(
        ({ about, of }) => html`<p>${about}</p>
          <ul>${of.map(({ name }) => html`<li><${TokenLink} name=${name} /></li>`)}</ul>`,
      )}
    </div>`;
}

function isSent({ figures }: Token): boolean {
  return figures?.refusals.some(({ code }) => code === problems.tokenInvalid.code) === true;
}

function TokenLink({ name }: { name: string }) {
  return html`<a href=${tokenPath(name)}><${ExactText} text=${name} /></a>`;
}

/** A new token may have the name of a revoked token. */
function keyOf({ name, createdAt }: Token): string {
  return `${createdAt} ${name}`;
}

function columnsWith(
  onOpen: (opened: Opened) => void,
  order: Order,
  onOrder: (order: Order) => void,
): readonly Column<Token>[] {
  const sort = (by: Order['by']) => {
    const isReversed = order.by === by ? !order.isReversed : orders[by].isReversed;
    const direction = order.isReversed ? 'descending' : 'ascending';
    return {
      direction: order.by === by ? direction : 'none',
      onSort: () => onOrder({ by, isReversed }),
    } as const;
  };
  return [
    {
      head: 'Name',
      sort: sort('name'),
      cell: ({ name, state }) =>
        html`<${TokenLink} name=${name} /> ${state !== 'valid' && html`<${State} state=${state} />`}`,
    },
    {
      head: 'Role',
      cell: ({ role, rate }) =>
        html`${role} ${rate !== null && html`<span class="quiet">up to ${rate}</span>`}`,
    },
    { head: 'New plants', isNumber: true, cell: ({ figures }) => figureOf(figures, 'created') },
    {
      head: 'Refused',
      isNumber: true,
      sort: sort('refused'),
      cell: ({ figures }) => figureOf(figures, 'refused'),
    },
    {
      head: 'Last used',
      isTime: true,
      sort: sort('lastUsed'),
      cell: (token) =>
        html`<${When} time=${token.lastUsedAt} or=${hasEnded(token) ? 'never' : 'not yet'} />`,
    },
    {
      head: 'Ends',
      isTime: true,
      sort: sort('ends'),
      cell: (token) => html`<${End} token=${token} />`,
    },
    {
      head: 'Change',
      cell: (token) => html`<${TokenActions} token=${token} onOpen=${onOpen} />`,
    },
  ];
}

const callerColumns: readonly Column<OtherCaller>[] = [
  { head: 'Name', cell: ({ name }) => html`<${TokenLink} name=${name} />` },
  { head: 'What it is', cell: ({ kind }) => kind },
  { head: 'New plants', isNumber: true, cell: ({ figures }) => figureOf(figures, 'created') },
  { head: 'Refused', isNumber: true, cell: ({ figures }) => figureOf(figures, 'refused') },
  {
    head: 'Last used',
    isTime: true,
    cell: ({ figures }) => html`<${When} time=${figures.lastUsedAt} />`,
  },
];
