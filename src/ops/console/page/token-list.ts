import { useEffect, useState } from 'preact/hooks';
import type { Token, TokenList } from '../../contract.ts';
import type { Api } from './api.ts';
import { ExactText, When } from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';
import { useAnswer } from './requests.ts';
import { RateDialog, RevokeDialog, RotateDialog } from './token-dialogs.ts';

/** A request reads all tokens of the store. */
const everyMs = 10_000;

/** The tokens, again after a while, and at once on `refresh`. */
export function useTokens(api: Api) {
  const { answer: list, error, refresh } = useAnswer<TokenList>(api.tokens);
  useEffect(() => {
    const again = setTimeout(refresh, everyMs);
    return () => clearTimeout(again);
  }, [list, error]);
  return { list, error, refresh };
}

const dialogs = { rotate: RotateDialog, revoke: RevokeDialog, rate: RateDialog };

export type Opened = { readonly dialog: keyof typeof dialogs; readonly token: Token };

/** The dialogs of a token, and the result of the last one. @param onDone called after a change */
export function useTokenDialogs(
  api: Api,
  signedInAs: string,
  list: TokenList | undefined,
  onDone: () => void,
) {
  const [opened, setOpened] = useState<Opened | undefined>();
  const [result, setResult] = useState('');
  const close = (done: string) => {
    setOpened(undefined);
    setResult(done);
    onDone();
  };
  const shown = opened && {
    ...{ api, token: opened.token, onClose: close },
    secrets: list?.tokens.filter(({ name }) => name === opened.token.name) ?? [],
    isOwn: opened.token.name === signedInAs,
  };
  const dialog = shown && html`<${dialogs[opened.dialog]} ...${shown} />`;
  return { dialog, result, setResult, open: setOpened };
}

interface NoSuchTokenProps {
  readonly name: string;
  /** The names that can be found; undefined before they are known. */
  readonly names: readonly string[] | undefined;
  readonly onChoose: (name: string) => void;
}

/** A hint for a filter with a name that the store does not have, such as a name with other capitals. */
export function NoSuchToken({ name, names, onChoose }: NoSuchTokenProps) {
  if (name === '' || names === undefined || names.includes(name)) return null;
  const similar = names.find((one) => one.toLowerCase() === name.toLowerCase());
  return html`
    <p class="note" role="status">The store lists no token with the name <b><${ExactText} text=${name} isExcerpt /></b>.
      ${similar !== undefined && html` <button class="small" onClick=${() => onChoose(similar)}>Search for ${similar}</button>`}</p>`;
}

const tones = { valid: 'good', rotated: 'changed', expired: '', revoked: '' } as const;

export function State({ state }: { state: Token['state'] }) {
  return html`<span class="badge ${tones[state]}">${state}</span>`;
}

interface EndProps {
  readonly token: Token;
  /** As of `When`. */
  readonly hasUtc?: boolean;
}

/** When a token was revoked, or else when it expires. */
export function End({ token, hasUtc = false }: EndProps) {
  return html`<${When} time=${token.revokedAt ?? token.expiresAt} hasUtc=${hasUtc} or="never" /> ${token.expiresSoon && html`<span class="badge changed">soon</span>`}`;
}

/** Who made or revoked a token. */
export function By({ name }: { name: string | null }) {
  if (name === null) return html`<span class="quiet">(by whom is not recorded)</span>`;
  return html`<span>by <${ExactText} text=${name} isExcerpt /></span>`;
}

interface TokenActionsProps {
  readonly token: Token;
  readonly onOpen: (opened: Opened) => void;
  /** Whether there is room for the button that changes the rate. */
  readonly hasRate?: boolean;
}

/** Buttons for a token whose name is taken: they are for all its secrets. */
export function TokenActions({ token, onOpen, hasRate = false }: TokenActionsProps) {
  const { name, state } = token;
  if (state === 'rotated') return html`<span class="quiet">old secret</span>`;
  if (state === 'revoked') return null;
  return html`
    <span class="actions start">
      <button class="small" aria-label=${`Rotate ${name}`} onClick=${() => onOpen({ dialog: 'rotate', token })}>Rotate</button>
      <button class="small" aria-label=${`Revoke ${name}`} onClick=${() => onOpen({ dialog: 'revoke', token })}>Revoke</button>
      ${hasRate && html`<button class="small" aria-label=${`Change rate of ${name}`} onClick=${() => onOpen({ dialog: 'rate', token })}>Change rate</button>`}
    </span>`;
}

/** Nothing is known of a token that this node has not seen. */
export function figureOf(
  figures: Token['figures'],
  name: 'created' | 'same' | 'taken' | 'failed' | 'refused',
) {
  return figures === null ? html`<span class="quiet">0</span>` : count(figures[name]);
}
