import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Overview, Session } from '../../contract.ts';
import { type Api, AwayError, createApi } from './api.ts';
import { Backups } from './backups.ts';
import { ExactText, Failure } from './components.ts';
import { Configuration } from './configuration.ts';
import { HistoryPage } from './history.ts';
import { type Children, html } from './html.ts';
import { LinkSignIn, linkIn } from './link-sign-in.ts';
import { OverviewPage } from './overview.ts';
import { PlantDetail } from './plant.ts';
import { Plants } from './plants.ts';
import { RefusalDetail } from './refusal.ts';
import { Refusals } from './refusals.ts';
import { usePolling } from './requests.ts';
import { type Route, useRoute } from './router.ts';
import { type KeyedPage, useShortcuts } from './shortcuts.ts';
import { SignIn } from './sign-in.ts';
import { TokenDetail } from './token.ts';
import { Tokens } from './tokens.ts';

const everyMs = 2_000;

/**
 * `isNew`: signed in on this page, and not before it was loaded. `notice`: why a sign-in link has
 * not replaced this session.
 */
type SignedIn =
  | (Session & { readonly isNew?: true; readonly notice?: string })
  | 'unknown'
  | { readonly link: string }
  | { readonly why: string | undefined };

export function App() {
  const [session, setSession] = useState<SignedIn>('unknown');
  const api = useMemo(() => createApi(() => setSession((last) => signedOut(last))), []);
  const link = linkIn(useRoute());
  useEffect(() => {
    if (link !== undefined) setSession({ link });
  }, [link]);
  if (session === 'unknown') return html`<${Start} api=${api} onSignedIn=${setSession} />`;
  if ('link' in session) {
    const onRefused = (why: string, kept?: Session) =>
      setSession(kept ? { ...kept, notice: why } : { why });
    return html`<${LinkSignIn} api=${api} link=${session.link} onSignedIn=${setSession} onRefused=${onRefused} />`;
  }
  if (!('name' in session))
    return html`<${SignIn} api=${api} why=${session.why} onSignedIn=${({ name }: Session) => setSession({ name, isNew: true })} />`;
  return html`<${Console} api=${api} ...${session} onSignedOut=${() => setSession({ why: undefined })} />`;
}

function signedOut(last: SignedIn): SignedIn {
  if (last === 'unknown') return { why: undefined };
  return 'name' in last ? { why: 'Your session has ended. Sign in again to go on here.' } : last;
}

/** Until the service has told whether there is a session. */
function Start({ api, onSignedIn }: { api: Api; onSignedIn: (session: Session) => void }) {
  const { answer, error } = usePolling(api.session, everyMs);
  useEffect(() => answer && onSignedIn(answer), [answer]);
  return html`<main class="sign-in"><h1 class="unseen">Plant Store</h1><${Trouble} error=${error} /></main>`;
}

interface ConsoleProps {
  readonly api: Api;
  readonly name: string;
  readonly isNew?: true;
  readonly notice?: string;
  readonly onSignedOut: () => void;
}

function Console({ api, name, isNew, notice, onSignedOut }: ConsoleProps) {
  const route = useRoute();
  const { answer: overview, answeredAtMs, error, isStale } = usePolling(api.overview, everyMs);
  const { title, content } = pageAt(route, { api, name, overview, answeredAtMs, isStale });
  const heading = useHeading(title, route.path, isNew);
  const shortcuts = useShortcuts(pages, route.path);
  const skip = (event: Event) => {
    event.preventDefault();
    heading.current?.focus();
  };
  return html`
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <header>
      <a class="brand" href="#/"><img src="/console/icon.svg" alt="" width="24" height="24" />Plant Store</a>
      <${Readiness} overview=${overview} error=${error} isStale=${isStale} />
      <span class="user"><span class="on-wide">Signed in as</span> <b>${name}</b></span>
      <${SignOut} api=${api} onSignedOut=${onSignedOut} />
      <button class="on-wide" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick=${shortcuts.show}>?</button>
      <${Navigation} path=${route.path} />
    </header>
    ${shortcuts.dialog}
    <${Trouble} error=${error} />
    <${LinkRefused} why=${notice} name=${name} path=${route.path} />
    <main id="content"><h1 ref=${heading} tabindex="-1">${title}</h1>${content}</main>`;
}

/** The pages of the navigation. `key` is the second key of its shortcut. */
const pages: readonly KeyedPage[] = [
  { path: '/', title: 'Overview', key: 'o' },
  { path: '/history', title: 'History', key: 'h' },
  { path: '/plants', title: 'Plants', key: 'p' },
  { path: '/refusals', title: 'Refusals', key: 'r' },
  { path: '/tokens', title: 'Tokens', key: 't' },
  { path: '/backups', title: 'Backups', key: 'b' },
  { path: '/configuration', title: 'Configuration', key: 'c' },
];

/** On a phone it is wider than the window, and scrolls to the current page. */
function Navigation({ path }: { path: string }) {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const show = () => {
      const current = nav.current?.querySelector<HTMLElement>('[aria-current]');
      if (!nav.current || !current) return;
      nav.current.scrollLeft =
        current.offsetLeft - (nav.current.clientWidth - current.offsetWidth) / 2;
    };
    show();
    addEventListener('resize', show);
    return () => removeEventListener('resize', show);
  }, [path]);
  return html`
    <nav ref=${nav} aria-label="Pages">
      ${pages.map((page) => html`<a href="#${page.path}" aria-current=${isWithin(path, page.path) ? 'page' : undefined}>${page.title}</a>`)}
    </nav>`;
}

function isWithin(path: string, link: string): boolean {
  return path === link || (link !== '/' && path.startsWith(`${link}/`));
}

interface Shown {
  readonly api: Api;
  readonly name: string;
  readonly overview: Overview | undefined;
  readonly answeredAtMs: number | undefined;
  readonly isStale: boolean;
}

function pageAt(
  { path, query }: Route,
  { api, name, overview, answeredAtMs, isStale }: Shown,
): { title: string; content: Children } {
  if (path === '/history')
    return { title: 'History', content: html`<${HistoryPage} api=${api} query=${query} />` };
  if (path === '/plants')
    return { title: 'Plants', content: html`<${Plants} api=${api} query=${query} />` };
  if (path.startsWith('/plants/')) {
    const id = path.slice('/plants/'.length);
    return {
      title: `Plant ${id}`,
      content: html`<${PlantDetail} key=${id} api=${api} id=${id} />`,
    };
  }
  if (path === '/refusals')
    return { title: 'Refusals', content: html`<${Refusals} api=${api} query=${query} />` };
  if (path.startsWith('/refusals/')) {
    const requestId = decoded(path.slice('/refusals/'.length));
    return {
      title: `Request ${requestId}`,
      content: html`<${RefusalDetail} key=${requestId} api=${api} requestId=${requestId} />`,
    };
  }
  if (path === '/tokens')
    return { title: 'Tokens', content: html`<${Tokens} api=${api} signedInAs=${name} />` };
  if (path.startsWith('/tokens/')) {
    const token = decoded(path.slice('/tokens/'.length));
    return {
      title: `Token ${token}`,
      content: html`<${TokenDetail} key=${token} api=${api} name=${token} signedInAs=${name} />`,
    };
  }
  if (path === '/backups') return { title: 'Backups', content: html`<${Backups} api=${api} />` };
  if (path === '/configuration') {
    return {
      title: 'Configuration',
      content: html`<${Configuration} settings=${overview?.configuration} />`,
    };
  }
  if (path !== '/') return { title: 'Not found', content: html`<${NoSuchPage} path=${path} />` };
  return {
    title: 'Overview',
    content: html`<${OverviewPage} api=${api} query=${query} overview=${overview} answeredAtMs=${answeredAtMs} isStale=${isStale} />`,
  };
}

function NoSuchPage({ path }: { path: string }) {
  return html`
    <section class="card empty">
      <h2>There is no such page</h2>
      <p>The console has nothing at <code>#<${ExactText} text=${path} isExcerpt /></code>. Go to the <a href="#/">overview</a>, or choose a page above.</p>
    </section>`;
}

/** A part of an address that somebody may have typed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Sets the title of the page. After a sign-in or a change of page, the heading has the focus. */
function useHeading(title: string, path: string, isMovedTo = false) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(!isMovedTo);
  useEffect(() => {
    document.title = `${title} · Plant Store`;
    // The page scrolls by itself (see `keepScroll`).
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [title, path]);
  return heading;
}

interface ReadinessProps {
  readonly overview: Overview | undefined;
  readonly error: Error | undefined;
  readonly isStale: boolean;
}

function Readiness(props: ReadinessProps) {
  const [tone, text] = readinessOf(props);
  return html`<span role="status" class="badge ${tone}">${text}</span>`;
}

function readinessOf({ overview, error, isStale }: ReadinessProps): readonly string[] {
  // An answer with an error does not tell whether the service is ready.
  if (error !== undefined && !(error instanceof AwayError)) return ['bad', 'Not known'];
  if (isStale) return ['bad', 'No answer'];
  if (overview === undefined) return ['', '…'];
  if (!overview.ready) return ['bad', 'Not ready'];
  return overview.checks.some(({ level }) => level === 'warning')
    ? ['changed', 'Ready, with a warning']
    : ['good', 'Ready'];
}

/** Why the console shows old figures. */
function Trouble({ error }: { error: Error | undefined }) {
  const says = error instanceof AwayError ? `${error.message} Trying again.` : error?.message;
  return html`<div role="alert">${says && html`<p class="banner">${says}</p>`}</div>`;
}

/** Until the next page. */
function LinkRefused({ why, name, path }: { why?: string; name: string; path: string }) {
  const [isOpen, setOpen] = useState(why !== undefined);
  const first = useRef(path);
  useEffect(() => {
    if (path !== first.current) setOpen(false);
  }, [path]);
  return html`<div role="alert">${isOpen && html`<p class="banner">${why} You are still signed in as ${name}.</p>`}</div>`;
}

function SignOut({ api, onSignedOut }: { api: Api; onSignedOut: () => void }) {
  const [error, setError] = useState<Error | undefined>();
  const signOut = () => api.signOut().then(onSignedOut, setError);
  return html`<button onClick=${signOut}>Sign out</button><${Failure} error=${error} />`;
}
