import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Backups } from './backups.ts';
import { Settings } from './configuration.ts';
import { OverviewPage } from './overview.ts';
import { Plants } from './plants.ts';
import { Refusals } from './refusals.ts';
import { LinkSignIn, SignIn } from './sign-in.ts';
import { nothing, openService, type PageProps, type SourceName, type State } from './state.ts';
import { Tokens } from './tokens.ts';
import { Badge, type Children, Failure, h, iconUrl, localText, useAct } from './ui.ts';

interface Page {
  readonly path: string;
  readonly title: string;
  readonly source: SourceName;
  readonly content: (props: PageProps) => Children;
}

const pages: readonly Page[] = [
  { path: '/', title: 'Overview', source: 'samples', content: OverviewPage },
  { path: '/plants', title: 'Plants', source: 'overview', content: Plants },
  { path: '/refusals', title: 'Refusals', source: 'refusals', content: Refusals },
  { path: '/tokens', title: 'Tokens', source: 'tokens', content: Tokens },
  { path: '/backups', title: 'Backups', source: 'backups', content: Backups },
  { path: '/configuration', title: 'Configuration', source: 'configuration', content: Settings },
];

/** The fragment of the address, such as `/plants?tag=Alnus`. */
function useRoute() {
  const [hash, setHash] = useState(location.hash);
  // Before the effects of the components, which may change the address.
  useLayoutEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return useMemo(() => {
    const [path = '', query = ''] = hash.slice(1).split('?');
    return { path: path.replace(/\/+$/, '') || '/', query: new URLSearchParams(query) };
  }, [hash]);
}

function App() {
  const [state, setState] = useState(nothing);
  const service = useMemo(() => openService(setState), []);
  const route = useRoute();
  const [link, setLink] = useState<string | undefined>();
  const linkHere = route.path === '/sign-in' ? route.query.get('link') : null;
  useLayoutEffect(() => {
    if (linkHere === null) return;
    setLink(linkHere);
    history.replaceState(null, '', '#/');
    dispatchEvent(new HashChangeEvent('hashchange'));
  }, [linkHere]);
  useEffect(() => {
    if (linkHere === null && link === undefined) void service.resume();
  }, []);
  const { session } = state;
  if (link !== undefined)
    return h(LinkSignIn, { key: link, service, link, onDone: () => setLink(undefined) });
  if (session === 'unknown') return h('main', {}, h(Trouble, state));
  if ('why' in session) return h(SignIn, { service, ...session });
  return h(Console, { service, state, route, ...session });
}

interface ConsoleProps extends Omit<PageProps, 'query'> {
  readonly route: ReturnType<typeof useRoute>;
  readonly name: string;
  readonly notice: string;
}

function Console({ service, state, route, name, notice }: ConsoleProps) {
  const { path, query } = route;
  const leaving = useAct();
  const stillSignedIn = `You are still signed in as ${name}.`;
  const page = pages.find((one) => one.path === path);
  const title = page?.title ?? 'Not found';
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Plant Store`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  useEffect(() => service.show(page?.source ?? 'overview'), [service, page]);
  const skip = (event: Event) => {
    event.preventDefault();
    heading.current?.focus();
  };
  const links = pages.map((one) =>
    h('a', { href: `#${one.path}`, 'aria-current': one === page ? 'page' : undefined }, one.title),
  );
  const { overview, trouble, isAway } = state;
  const text = isAway ? 'no answer' : overview?.ready ? 'ready' : 'not ready';
  const badge = h(Badge, { tone: text === 'ready' ? 'good' : 'bad', text });
  const content = page
    ? h(page.content, { key: page.path, service, state, query })
    : h('p', {}, 'There is no such page. Choose one above.');
  return [
    h('a', { class: 'skip', href: '#content', onClick: skip }, 'Skip to the content'),
    h(
      'header',
      {},
      h(
        'a',
        { class: 'brand', href: '#/' },
        h('img', { src: iconUrl, alt: '', width: 24, height: 24 }),
        'Plant Store',
      ),
      h('nav', { 'aria-label': 'Pages' }, links),
      h('span', { role: 'status' }, (isAway || overview) && badge),
      h('b', { class: 'user', title: `Signed in as ${name}` }, name),
      h('button', { onClick: () => leaving.run(() => service.signOut()) }, 'Sign out'),
    ),
    h(Trouble, state),
    (leaving.error ?? notice) &&
      h(Failure, { error: new Error(`${leaving.error?.message ?? notice} ${stillSignedIn}`) }),
    h(
      'main',
      { id: 'content', class: trouble ? 'stale' : '' },
      h('h1', { ref: heading, tabIndex: -1 }, title),
      content,
    ),
  ];
}

/** What is wrong, how old the page is, and that nothing has to be done for it. */
function Trouble({ trouble, readAtMs }: State) {
  if (!trouble) return h(Failure, { error: undefined });
  const age = readAtMs === undefined ? '' : ` This page is as of ${localText(readAtMs)}.`;
  return h(Failure, { error: new Error(`${trouble.message}${age} The console tries again.`) });
}

render(h(App, {}), document.body);
