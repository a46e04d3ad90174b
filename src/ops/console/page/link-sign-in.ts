import { useEffect } from 'preact/hooks';
import type { Session } from '../../contract.ts';
import type { Api } from './api.ts';
import { html } from './html.ts';
import { type Route, replacePath } from './router.ts';

/** The secret of a sign-in link (`plant-store open`), if the address has one. */
export function linkIn({ path, query }: Route): string | undefined {
  return path === '/sign-in' ? (query.get('link') ?? undefined) : undefined;
}

interface LinkSignInProps {
  readonly api: Api;
  readonly link: string;
  readonly onSignedIn: (session: Session & { readonly isNew: true }) => void;
  /** @param session that goes on, if somebody was signed in before */
  readonly onRefused: (why: string, session?: Session) => void;
}

/** Signs in by a link. Its secret leaves the address bar and the history at once. */
export function LinkSignIn({ api, link, onSignedIn, onRefused }: LinkSignInProps) {
  useEffect(() => {
    const stop = new AbortController();
    replacePath('/');
    api.signIn({ link }).then(
      ({ name }) => onSignedIn({ name, isNew: true }),
      ({ message }: Error) =>
        api.session(stop.signal).then(
          (session) => onRefused(message, session),
          () => stop.signal.aborted || onRefused(message),
        ),
    );
    return () => stop.abort();
  }, [link]);
  return html`<main class="sign-in"><h1 class="unseen">Plant Store</h1><p role="status">Signing in…</p></main>`;
}
