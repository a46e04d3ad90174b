import { useEffect, useRef, useState } from 'preact/hooks';
import { type Api, ApiError, type Session } from './api.ts';
import { html } from './html.ts';
import { Failure } from './parts.ts';

interface SignInProps {
  readonly api: Api;
  /** Why it is asked for again. */
  readonly why: string | undefined;
  readonly onSignedIn: (session: Session) => void;
}

/** Asks for a token that may operate the service. */
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
    await api.signIn(field.value).then(onSignedIn, (refusal: Error) => setError(withWait(refusal)));
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
        <p id="token-help" class="quiet">Where the service runs, this makes one: <code>plant-store token create NAME --role operate</code></p>
      </form>
    </main>`;
}

function withWait(refusal: Error): Error {
  const seconds = refusal instanceof ApiError ? refusal.retryAfterSeconds : undefined;
  return seconds === undefined
    ? refusal
    : new Error(`${refusal.message} Try again in ${seconds} s.`);
}
