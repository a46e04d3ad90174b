import { useEffect, useState } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { Token } from '../../contract.ts';
import type { Api } from './api.ts';
import {
  type Column,
  Dialog,
  ExactText,
  Failure,
  Result,
  Skeleton,
  Table,
  When,
} from './components.ts';
import { html } from './html.ts';
import { NewTokenDialog } from './new-token.ts';
import { useAnswer } from './requests.ts';

interface TokensProps {
  readonly api: Api;
  readonly signedInAs: string;
}

export function Tokens({ api, signedInAs }: TokensProps) {
  const { answer: list, error, refresh } = useAnswer(api.tokens);
  const [open, setOpen] = useState<'create' | Token | undefined>();
  const [result, setResult] = useState('');
  // The button of a revoked token is gone, and the focus with it.
  useEffect(() => {
    if (result !== '' && document.activeElement === document.body)
      document.querySelector('h1')?.focus();
  }, [list]);
  const close = (done: string) => {
    setOpen(undefined);
    setResult(done);
    refresh();
  };
  return html`
    <button class="beside main" onClick=${() => setOpen('create')}>Create a token</button>
    <p class="lead">Clients create plants with a token; operators sign in here with one.</p>
    <${Failure} error=${error} />
    <${Result}>${result}<//>
    ${!list && !error && html`<${Skeleton} rows=${6} />`}
    ${list && html`<${Table} caption="Tokens" columns=${columnsWith(setOpen)} rows=${list.tokens} rowKey=${keyOf} />`}
    ${list && list.leftOut > 0 && html`<p>Older expired and revoked tokens: ${list.leftOut}. <code>plant-store token list</code> shows all.</p>`}
    ${open === 'create' && html`<${NewTokenDialog} api=${api} onClose=${close} />`}
    ${typeof open === 'object' && html`<${RevokeDialog} api=${api} token=${open} isOwn=${open.name === signedInAs} onClose=${close} />`}`;
}

/** A new token may have the name of a revoked token. */
function keyOf({ name, createdAt }: Token): string {
  return `${createdAt} ${name}`;
}

function columnsWith(onRevoke: (token: Token) => void): readonly Column<Token>[] {
  const badge = (state: Token['state']) =>
    html`<span class="badge ${state === 'valid' ? 'good' : ''}">${state}</span>`;
  const revoke = (token: Token) =>
    html`<button class="small" aria-label=${`Revoke ${token.name}`} onClick=${() => onRevoke(token)}>Revoke</button>`;
  return [
    { head: 'Name', cell: ({ name }) => html`<${ExactText} text=${name} />` },
    { head: 'State', cell: ({ state }) => badge(state) },
    { head: 'Role', cell: ({ role }) => role },
    { head: 'Rate', cell: ({ rate }) => rate ?? html`<span class="quiet">any</span>` },
    { head: 'Created', cell: ({ createdAt }) => html`<${When} time=${createdAt} />` },
    { head: 'Expires', cell: ({ expiresAt }) => html`<${When} time=${expiresAt} or="never" />` },
    {
      head: 'Last used',
      cell: ({ lastUsedAt }) => html`<${When} time=${lastUsedAt} or="not yet" />`,
    },
    {
      head: 'Revoked',
      cell: (token) =>
        token.state === 'revoked' ? html`<${When} time=${token.revokedAt} />` : revoke(token),
    },
  ];
}

interface RevokeDialogProps {
  readonly api: Api;
  readonly token: Token;
  /** Whether the operator has signed in with this token. */
  readonly isOwn: boolean;
  /** @param done the result, empty if the operator keeps the token */
  readonly onClose: (done: string) => void;
}

function RevokeDialog({ api, token: { name }, isOwn, onClose }: RevokeDialogProps) {
  const [error, setError] = useState<Error | undefined>();
  const revoke = () =>
    api.revokeToken(name).then(() => onClose(`The token ${name} is revoked.`), setError);
  return html`
    <${Dialog} title="Revoke this token?" onClose=${() => onClose('')}>
      <p>Clients that use <b><${ExactText} text=${name} /></b> are refused within ${limits.access.staleMs / 1_000} seconds. This cannot be undone.</p>
      ${isOwn && html`<p>You have signed in with it, and will be signed out.</p>`}
      <${Failure} error=${error} />
      <p class="actions">
        <button onClick=${() => onClose('')}>Keep it</button>
        <button class="main danger" onClick=${revoke}>Revoke</button>
      </p>
    <//>`;
}
