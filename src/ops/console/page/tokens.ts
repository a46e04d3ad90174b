import { useEffect, useState } from 'preact/hooks';
import type { Api, Token, TokenList } from './api.ts';
import { html } from './html.ts';
import { NewTokenDialog } from './new-token.ts';
import { type Column, Dialog, ExactText, Failure, Result, Table, When } from './parts.ts';

interface TokensProps {
  readonly api: Api;
  readonly signedInAs: string;
}

/** Lists, creates and revokes tokens. */
export function Tokens({ api, signedInAs }: TokensProps) {
  const { list, error, refresh } = useTokens(api);
  const [open, setOpen] = useState<'create' | Token | undefined>();
  const [result, setResult] = useState('');
  // The button that was pressed is gone with what it was for.
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
    ${list && html`<${Table} caption="Tokens" columns=${columnsWith(setOpen)} rows=${list.tokens} rowKey=${keyOf} />`}
    ${list && list.leftOut > 0 && html`<p>Older ones that are valid no more: ${list.leftOut}. <code>plant-store token list</code> shows all.</p>`}
    ${open === 'create' && html`<${NewTokenDialog} api=${api} onClose=${close} />`}
    ${typeof open === 'object' && html`<${RevokeDialog} api=${api} token=${open} isOwn=${open.name === signedInAs} onClose=${close} />`}`;
}

/** A name may be given again once it is revoked. */
function keyOf({ name, createdAt }: Token): string {
  return `${createdAt} ${name}`;
}

function useTokens(api: Api) {
  const [list, setList] = useState<TokenList | undefined>();
  const [error, setError] = useState<Error | undefined>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    api.tokens(stop.signal).then(
      (answer) => {
        setList(answer);
        setError(undefined);
      },
      (failure: Error) => stop.signal.aborted || setError(failure),
    );
    return () => stop.abort();
  }, [api, turn]);
  return { list, error, refresh: () => setTurn(turn + 1) };
}

function columnsWith(onRevoke: (token: Token) => void): readonly Column<Token>[] {
  return [
    { head: 'Name', cell: ({ name }) => html`<${ExactText} text=${name} />` },
    {
      head: 'State',
      cell: ({ state }) =>
        html`<span class="badge ${state === 'valid' ? 'good' : ''}">${state}</span>`,
    },
    { head: 'Role', cell: ({ role }) => role },
    { head: 'Created', cell: ({ createdAt }) => html`<${When} time=${createdAt} />` },
    { head: 'Expires', cell: ({ expiresAt }) => html`<${When} time=${expiresAt} or="never" />` },
    {
      head: 'Last used',
      cell: ({ lastUsedAt }) => html`<${When} time=${lastUsedAt} or="not yet" />`,
    },
    {
      head: 'Revoked',
      cell: (token) =>
        token.state === 'revoked'
          ? html`<${When} time=${token.revokedAt} />`
          : html`<button class="small" aria-label=${`Revoke ${token.name}`} onClick=${() => onRevoke(token)}>Revoke</button>`,
    },
  ];
}

interface RevokeDialogProps {
  readonly api: Api;
  readonly token: Token;
  /** Whether the operator has signed in with it. */
  readonly isOwn: boolean;
  /** With what has been done. */
  readonly onClose: (done: string) => void;
}

function RevokeDialog({ api, token: { name }, isOwn, onClose }: RevokeDialogProps) {
  const [error, setError] = useState<Error | undefined>();
  const revoke = () =>
    api.revokeToken(name).then(() => onClose(`The token ${name} is revoked.`), setError);
  return html`
    <${Dialog} title="Revoke this token?" onClose=${() => onClose('')}>
      <p>Whoever uses <b><${ExactText} text=${name} /></b> is refused, in two seconds at the latest. This cannot be undone.</p>
      ${isOwn && html`<p>You have signed in with it, and will be signed out.</p>`}
      <${Failure} error=${error} />
      <p class="actions">
        <button onClick=${() => onClose('')}>Keep it</button>
        <button class="main danger" onClick=${revoke}>Revoke</button>
      </p>
    <//>`;
}
