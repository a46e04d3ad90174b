import { useState } from 'preact/hooks';
import type { Token } from '../../contract.ts';
import type { Api } from './api.ts';
import { Dialog, ExactText, Facts, Failure, When } from './components.ts';
import { html } from './html.ts';
import { tokenPath } from './router.ts';
import { End, State } from './token-list.ts';

/** Asks for a secret, and tells whose it is. */
export function InspectTokenDialog({ api, onClose }: { api: Api; onClose: () => void }) {
  const [found, setFound] = useState<Token | undefined>();
  const [error, setError] = useState<Error | undefined>();

  async function inspect(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const token = String(form.get('secret'))
      .trim()
      .replace(/^bearer +/i, '');
    setFound(undefined);
    setError(undefined);
    await api.inspectToken({ token }).then(setFound, setError);
  }

  return html`
    <${Dialog} title="Whose token is it?" onClose=${onClose}>
      <form onSubmit=${inspect}>
        <label>Token, as the client sends it
          <input name="secret" type="password" required autocomplete="off" autofocus />
        </label>
        <div role="status">${found && html`<${Facts} facts=${factsOf(found)} />`}</div>
        <${Failure} error=${error} />
        <p class="actions">
          <button type="button" class=${found ? 'main' : ''} onClick=${onClose}>Close</button>
          <button class=${found ? '' : 'main'}>Find</button>
        </p>
      </form>
    <//>`;
}

function factsOf(token: Token) {
  const { name, role, state, lastUsedAt } = token;
  return [
    [
      'Token',
      html`<a href=${tokenPath(name)}><${ExactText} text=${name} /></a> <${State} state=${state} />`,
    ],
    ['Role', role],
    [state === 'revoked' ? 'Revoked' : 'Ends', html`<${End} token=${token} />`],
    ['Last used', html`<${When} time=${lastUsedAt} or="not yet" />`],
  ];
}
