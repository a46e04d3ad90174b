import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../../contract.ts';
import { type Api, ApiError } from './api.ts';
import { Failure } from './components.ts';
import { html } from './html.ts';
import { useAnswer } from './requests.ts';

interface SignInProps {
  readonly api: Api;
  /** Why the operator must sign in again. */
  readonly why: string | undefined;
  readonly onSignedIn: (session: Session) => void;
}

export function SignIn({ api, why, onSignedIn }: SignInProps) {
  const input = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<Error | undefined>(
    why === undefined ? failedSignIn() : new Error(why),
  );
  const { answer: provider } = useAnswer(api.provider);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Plant Store';
    input.current?.focus();
  }, []);

  async function signIn(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const field = input.current;
    if (!field || isAsking) return;
    setAsking(true);
    setError(undefined);
    await api
      .signIn({ token: field.value })
      .then(onSignedIn, (refusal: Error) => setError(withWait(refusal)));
    setAsking(false);
    field.select();
  }

  return html`
    <main class="sign-in">
      <form onSubmit=${signIn}>
        <img src="/console/icon.svg" alt="" width="40" height="40" />
        <h1>Plant Store</h1>
        ${
          provider?.issuer &&
          html`<a class="button main" href="/api/sign-in">Sign in with ${new URL(provider.issuer).host}</a>
            <p class="quiet">or with a token</p>`
        }
        <label for="token">Operator token</label>
        <input ref=${input} id="token" type="password" required autocomplete="current-password" aria-describedby="token-help" />
        <button class=${provider?.issuer ? '' : 'main'} aria-busy=${isAsking}>${isAsking ? 'Signing in…' : 'Sign in'}</button>
        <${Failure} error=${error} />
        <div id="token-help" class="quiet">
          ${error?.message.includes(tokenCommand) || html`<p>On the machine of the service, this command creates a token: <code>${tokenCommand}</code></p>`}
          <p>This command signs in without a token: <code>plant-store open</code></p>
        </div>
      </form>
    </main>`;
}

/** An error of the service may name it, too. */
const tokenCommand = 'plant-store token create NAME --role operate';

const failures: Readonly<Record<string, string>> = {
  unavailable: 'The identity provider cannot be reached now. A token still signs in.',
  refused: 'The identity provider has not signed you in. The log of the service says why.',
  'not an operator': 'Your account may not operate this service.',
};

/** Why the identity provider has sent the browser back. */
function failedSignIn(): Error | undefined {
  const why = new URLSearchParams(location.search).get('sign-in');
  if (why === null) return undefined;
  // A reload is a new attempt.
  history.replaceState(null, '', location.pathname + location.hash);
  return new Error(failures[why] ?? failures['refused']);
}

function withWait(refusal: Error): Error {
  const seconds = refusal instanceof ApiError ? refusal.retryAfterSeconds : undefined;
  return seconds === undefined
    ? refusal
    : new Error(`${refusal.message} Try again in ${seconds} s.`);
}
