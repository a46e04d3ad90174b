import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Backups } from './backups.ts';
import { Settings } from './configuration.ts';
import { OverviewPage } from './overview.ts';
import { Plants } from './plants.ts';
import { Refusals } from './refusals.ts';
import { LinkSignIn, SignIn } from './sign-in.ts';
import { createStore, nothing, type PageProps, type SourceName } from './state.ts';
import { Tokens } from './tokens.ts';
import { Badge, type Children, Dialog, Facts, Failure, h } from './ui.ts';

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
  const store = useMemo(() => createStore(setState), []);
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
    if (linkHere === null && link === undefined) void store.resume();
  }, []);
  const { session, trouble } = state;
  if (link !== undefined)
    return h(LinkSignIn, { key: link, store, link, onDone: () => setLink(undefined) });
  if (session === 'unknown') return h('main', {}, h(Failure, { error: trouble }));
  if ('why' in session) return h(SignIn, { store, ...session });
  return h(Console, { store, state, route, ...session });
}

interface ConsoleProps extends Omit<PageProps, 'query'> {
  readonly route: ReturnType<typeof useRoute>;
  readonly name: string;
  readonly notice: string;
}

function Console({ store, state, route, name, notice }: ConsoleProps) {
  const { path, query } = route;
  const page = pages.find((one) => one.path === path);
  const title = page?.title ?? 'Not found';
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Plant Store`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  const shortcuts = useShortcuts(path);
  useEffect(() => store.show(page?.source ?? 'overview'), [store, page]);
  const skip = (event: Event) => {
    event.preventDefault();
    heading.current?.focus();
  };
  const links = pages.map((one) =>
    h('a', { href: `#${one.path}`, 'aria-current': one === page ? 'page' : undefined }, one.title),
  );
  const { overview, trouble } = state;
  const text = trouble ? 'no answer' : overview?.ready ? 'ready' : 'not ready';
  const badge = h(Badge, { tone: text === 'ready' ? 'good' : 'bad', text });
  const content = page
    ? h(page.content, { key: page.path, store, state, query })
    : h('p', {}, 'There is no such page. Choose one above.');
  return [
    h('a', { class: 'skip', href: '#content', onClick: skip }, 'Skip to the content'),
    h(
      'header',
      {},
      h(
        'a',
        { class: 'brand', href: '#/' },
        h('img', { src: '/console/icon.svg', alt: '', width: 24, height: 24 }),
        'Plant Store',
      ),
      h('nav', { 'aria-label': 'Pages' }, links),
      h('span', { role: 'status' }, (trouble || overview) && badge),
      h('b', { class: 'user', title: `Signed in as ${name}` }, name),
      h('button', { onClick: () => store.signOut() }, 'Sign out'),
      h('button', { 'aria-label': 'Keyboard shortcuts', onClick: shortcuts.show }, '?'),
    ),
    shortcuts.dialog,
    h(Failure, { error: trouble }),
    notice !== '' &&
      h(Failure, { error: new Error(`${notice} You are still signed in as ${name}.`) }),
    h(
      'main',
      { id: 'content', class: trouble ? 'stale' : '' },
      h('h1', { ref: heading, tabIndex: -1 }, title),
      content,
    ),
  ];
}

const pairMs = 1_500;

/** `?` lists the shortcuts, `/` leads to the search, and `g` with its first letter to a page. */
function useShortcuts(path: string) {
  const [isListed, setListed] = useState(false);
  const isSearchAsked = useRef(false);
  useEffect(() => {
    let goUntilMs = 0;
    const follow = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      const page = event.timeStamp < goUntilMs && pages.find((one) => keyOf(one) === event.key);
      goUntilMs = event.key === 'g' ? event.timeStamp + pairMs : 0;
      if (page) location.hash = `#${page.path}`;
      else if (event.key === '?') setListed(true);
      else if (event.key === '/') isSearchAsked.current = !focusSearch();
      else return;
      if (isSearchAsked.current) location.hash = '#/plants';
      event.preventDefault();
    };
    document.addEventListener('keydown', follow);
    return () => document.removeEventListener('keydown', follow);
  }, []);
  useEffect(() => {
    if (isSearchAsked.current) focusSearch();
    isSearchAsked.current = false;
  }, [path]);
  const close = () => setListed(false);
  const keys = (...names: string[]) => names.map((name) => h('kbd', { class: 'badge' }, name));
  const children = [
    h(Facts, {
      facts: [
        [keys('?'), 'Show this list'],
        [keys('/'), 'Search or filter'],
        ...pages.map((page) => [keys('g', keyOf(page)), page.title] as const),
      ],
    }),
    h('p', { class: 'actions' }, h('button', { autoFocus: true, onClick: close }, 'Close')),
  ];
  const dialog = isListed && h(Dialog, { title: 'Keyboard shortcuts', onClose: close, children });
  return { show: () => setListed(true), dialog };
}

function keyOf({ title }: Page): string {
  return title.charAt(0).toLowerCase();
}

function isShortcut({ key, ctrlKey, metaKey, altKey, isComposing, target }: KeyboardEvent) {
  if (key.length !== 1 || ctrlKey || metaKey || altKey || isComposing) return false;
  const isTyping = target instanceof Element && target.closest('input, select');
  return !isTyping && document.querySelector('dialog[open]') === null;
}

function focusSearch(): boolean {
  const input = document.querySelector<HTMLElement>('[role="search"] :is(input, select)');
  input?.focus();
  return input !== null;
}

render(h(App, {}), document.body);
