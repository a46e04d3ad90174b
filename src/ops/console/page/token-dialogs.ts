import { useState } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { RotatedToken, Token } from '../../contract.ts';
import type { Api } from './api.ts';
import { Dialog, ExactText, Failure } from './components.ts';
import { distance, localTime, plantsText } from './format.ts';
import { html } from './html.ts';
import { SecretDialog } from './new-token.ts';
import { RateFields, rateIn, rateSays } from './token-rate.ts';

interface TokenDialogProps {
  readonly api: Api;
  readonly token: Token;
  /** All of its name. */
  readonly secrets: readonly Token[];
  /** Whether the operator has signed in with this token. */
  readonly isOwn: boolean;
  /** @param done the result, empty if the operator keeps the token as it is */
  readonly onClose: (done: string) => void;
}

export function RevokeDialog({ api, token, secrets, isOwn, onClose }: TokenDialogProps) {
  const { name } = token;
  const [error, setError] = useState<Error | undefined>();
  const revoke = () =>
    api.revokeToken(name).then(() => onClose(`The token ${name} is revoked.`), setError);
  return html`
    <${Dialog} title="Revoke this token?" onClose=${() => onClose('')}>
      <p>Clients that use <b><${ExactText} text=${name} /></b> are refused within ${limits.access.staleMs / 1_000} seconds. This cannot be undone.</p>
      ${secrets.some(({ state }) => state === 'rotated') && html`<p>Its old secret, which is still in force, is revoked, too.</p>`}
      <p>${usesText(token, secrets)}</p>
      ${isOwn && html`<p>You have signed in with it, and will be signed out.</p>`}
      <${Failure} error=${error} />
      <p class="actions">
        <button onClick=${() => onClose('')}>Keep it</button>
        <button class="main danger" onClick=${revoke}>Revoke</button>
      </p>
    <//>`;
}

/** Tells an operator whether clients still use what is about to be revoked. */
function usesText({ role }: Token, secrets: readonly Token[]): string {
  const ending = secrets.filter(({ state }) => state !== 'revoked');
  const lastUsedAt = lastUseOf(ending);
  if (lastUsedAt === null) return 'It was never used.';
  const created = ending.reduce((sum, { figures }) => sum + (figures?.created ?? 0), 0);
  const plants = ` ${plantsText(created)} came with it since the start of this service.`;
  return `Last used ${distance(lastUsedAt)}.${role === 'create' ? plants : ''}`;
}

export function lastUseOf(secrets: readonly Token[]): string | null {
  const uses = secrets.flatMap(({ lastUsedAt }) => lastUsedAt ?? []);
  return uses.toSorted().at(-1) ?? null;
}

/** Asks for the grace, and then shows the new secret. */
export function RotateDialog({ api, token, isOwn, onClose }: TokenDialogProps) {
  const [rotated, setRotated] = useState<RotatedToken | undefined>();
  if (rotated === undefined)
    return html`<${RotationForm} key="form" api=${api} token=${token} isOwn=${isOwn} onRotated=${setRotated} onClose=${() => onClose('')} />`;
  const { previousUntil } = rotated;
  return html`
    <${SecretDialog} key="secret" title="The token has a new secret" secret=${rotated} onClose=${() => onClose(`The token ${token.name} has a new secret.`)}>
      <p>${previousUntil === null ? 'The old secret has ended.' : `The old secret stays in force until ${localTime(previousUntil)}.`}</p>
    <//>`;
}

const graces: readonly (readonly [hours: number, text: string])[] = [
  [0, 'not at all: it has leaked'],
  [1, 'for an hour'],
  [24, 'for a day'],
  [7 * 24, 'for a week'],
  [30 * 24, 'for 30 days'],
];
const graceDefault = 24;

interface RotationFormProps {
  readonly api: Api;
  readonly token: Token;
  readonly isOwn: boolean;
  readonly onRotated: (rotated: RotatedToken) => void;
  readonly onClose: () => void;
}

function RotationForm({ api, token, isOwn, onRotated, onClose }: RotationFormProps) {
  const { name, expiresAt } = token;
  const [error, setError] = useState<Error | undefined>();
  const rotate = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const days = String(form.get('days'));
    setError(undefined);
    const expiresInDays = days === '' ? null : Number(days);
    const body = { name, graceHours: Number(form.get('grace')), expiresInDays };
    api.rotateToken(body).then(onRotated, setError);
  };
  const life =
    expiresAt === null ? 'it never expires' : 'a new term, as long as that of the old secret';
  return html`
    <${Dialog} title="Rotate the token" onClose=${onClose}>
      <form onSubmit=${rotate}>
        <p>The token <b><${ExactText} text=${name} /></b> keeps its name, role and rate.</p>
        <label>The old secret stays in force
          <select name="grace" autofocus>
            ${graces.map(([hours, text]) => html`<option value=${hours} selected=${hours === graceDefault}>${text}</option>`)}
          </select>
        </label>
        <label>Days until the new secret expires (empty: ${life}) <input name="days" type="number" min="1" step="1" /></label>
        ${isOwn && html`<p>You have signed in with this token: your session ends with the old secret.</p>`}
        <${Failure} error=${error} />
        <p class="actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button class="main">Make a new secret</button>
        </p>
      </form>
    <//>`;
}

export function RateDialog({ api, token, onClose }: TokenDialogProps) {
  const { name, rate, burst } = token;
  const [error, setError] = useState<Error | undefined>();
  const change = (event: SubmitEvent) => {
    event.preventDefault();
    const wish = rateIn(new FormData(event.currentTarget as HTMLFormElement));
    setError(undefined);
    api
      .limitToken(name, wish)
      .then((changed) => onClose(`The token ${name} may send ${rateSays(changed)}.`), setError);
  };
  return html`
    <${Dialog} title="Change the rate" onClose=${() => onClose('')}>
      <form onSubmit=${change}>
        <p>All services use the new rate of <b><${ExactText} text=${name} /></b> within ${limits.access.staleMs / 1_000} seconds.</p>
        <${RateFields} rate=${rate} burst=${burst} />
        <${Failure} error=${error} />
        <p class="actions">
          <button type="button" onClick=${() => onClose('')}>Cancel</button>
          <button class="main">Change</button>
        </p>
      </form>
    <//>`;
}
