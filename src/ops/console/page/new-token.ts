import { useEffect, useRef, useState } from 'preact/hooks';
import type { CreatedToken, Role } from '../../contract.ts';
import type { Api } from './api.ts';
import { Dialog, ExactText, Failure, Result } from './components.ts';
import { isCopied } from './copy.ts';
import { type Children, html } from './html.ts';
import { RateFields, rateIn } from './token-rate.ts';

interface NewTokenDialogProps {
  readonly api: Api;
  /** @param done the result, empty if no token was created */
  readonly onClose: (done: string) => void;
}

/** A form for a token, and then its secret, which cannot be shown again. */
export function NewTokenDialog({ api, onClose }: NewTokenDialogProps) {
  const [secret, setSecret] = useState<CreatedToken | undefined>();
  if (secret)
    return html`<${SecretDialog} key="secret" title="The token is created" secret=${secret} onClose=${() => onClose(`The token ${secret.name} is created.`)} />`;
  return html`<${FormDialog} key="form" api=${api} onCreated=${setSecret} onClose=${() => onClose('')} />`;
}

interface FormDialogProps {
  readonly api: Api;
  readonly onCreated: (secret: CreatedToken) => void;
  readonly onClose: () => void;
}

function FormDialog({ api, onCreated, onClose }: FormDialogProps) {
  const [role, setRole] = useState<Role>('create');
  const [error, setError] = useState<Error | undefined>();
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const days = String(form.get('days'));
    setError(undefined);
    const body = {
      name: String(form.get('name')),
      role,
      expiresInDays: days === '' ? null : Number(days),
      ...rateIn(form),
    };
    api.createToken(body).then(onCreated, setError);
  };
  return html`
    <${Dialog} title="Create a token" onClose=${onClose}>
      <form onSubmit=${create}>
        <label>Name <input name="name" required autofocus autocomplete="off" spellcheck=${false} /></label>
        <label>Role
          <select onChange=${(event: Event) => setRole((event.currentTarget as HTMLSelectElement).value as Role)}>
            <option value="create" selected=${role === 'create'}>create plants</option>
            <option value="operate" selected=${role === 'operate'}>operate the service</option>
          </select>
        </label>
        <label>Days until it expires (empty: never) <input name="days" type="number" min="1" step="1" /></label>
        ${role === 'create' && html`<${RateFields} />`}
        <${Failure} error=${error} />
        <p class="actions">
          <button type="button" onClick=${onClose}>Cancel</button>
          <button class="main">Create</button>
        </p>
      </form>
    <//>`;
}

interface SecretDialogProps {
  readonly title: string;
  readonly secret: CreatedToken;
  readonly onClose: () => void;
  /** What else to know, below the secret. */
  readonly children?: Children;
}

/** The only place where a secret is shown. */
export function SecretDialog({ title, secret, onClose, children }: SecretDialogProps) {
  const { name, token } = secret;
  const field = useRef<HTMLInputElement>(null);
  const [says, setSays] = useState('');
  useEffect(() => field.current?.select(), []);
  const copy = async () => {
    field.current?.select();
    setSays(
      (await isCopied(token))
        ? 'Copied.'
        : 'The browser does not allow copying here. The secret is selected: press Ctrl+C.',
    );
  };
  return html`
    <${Dialog} title=${title} isKept onClose=${onClose}>
      <p>This is the secret of <b><${ExactText} text=${name} /></b>. Keep it now: <strong>it will not be shown again.</strong></p>
      <div class="secret">
        <input ref=${field} class="mono" readonly autofocus aria-label="Secret" value=${token} />
        <button onClick=${copy}>Copy</button>
      </div>
      <${Result}>${says}<//>
      ${children}
      <p class="actions"><button class="main" onClick=${onClose}>I have kept it</button></p>
    <//>`;
}
