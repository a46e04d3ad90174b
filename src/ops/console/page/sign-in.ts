import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../../contract.ts';
import { type Api, ApiError } from './api.ts';
import { Failure } from './components.ts';
import { html } from './html.ts';

interface SignInProps {
  readonly api: Api;
  /** Why the operator must sign in again. */
  readonly why: string | undefined;
  readonly onSignedIn: (session: Session) => void;
}

export function SignIn({ api, why, onSignedIn }: SignInProps) {
  const input = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<Error | undefined>(
    why === undefined ? undefined : new Error(why),
  );
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
        <label for="token">Operator token</label>
        <input ref=${input} id="token" type="password" required autocomplete="current-password" aria-describedby="token-help" />
        <button class="main" aria-busy=${isAsking}>${isAsking ? 'Signing in…' : 'Sign in'}</button>
        <${Failure} error=${error} />
        <p id="token-help" class="quiet">Create one on the machine of the service: <code>plant-store token create NAME --role operate</code></p>
      </form>
    </main>`;
}

function withWait(refusal: Error): Error {
  const seconds = refusal instanceof ApiError ? refusal.retryAfterSeconds : undefined;
  return seconds === undefined
    ? refusal
    : new Error(`${refusal.message} Try again in ${seconds} s.`);
}
