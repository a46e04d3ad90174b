import { useEffect, useState } from 'preact/hooks';

/** The fragment of the address, such as `/plants?tag=Alnus`. */
export interface Route {
  readonly path: string;
  readonly query: URLSearchParams;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const follow = () => setRoute(currentRoute());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

/** Writes the query into the address without navigation, so that "Back" returns to it. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  const { path } = currentRoute();
  const text = new URLSearchParams(query).toString();
  history.replaceState({ top: scrollY }, '', `#${path}${text && `?${text}`}`);
}

/** Goes to the top of the path, with a state in the history that comes back with "Back". */
export function pushPath(path: string, state: object): void {
  history.pushState(state, '', `#${path}`);
  scrollTo(0, 0);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Goes to the path, without an entry in the history for the address that it replaces. */
export function replacePath(path: string): void {
  history.replaceState({ top: scrollY }, '', `#${path}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The page of a token. A name may hold any character but a space. */
export function tokenPath(name: string): string {
  return `#/tokens/${encodeURIComponent(name)}`;
}

function currentRoute(): Route {
  const [path = '', query = ''] = location.hash.slice(1).split('?');
  return { path: path.replace(/\/+$/, '') || '/', query: new URLSearchParams(query) };
}

/** The refusals of one sender, or only those with one code. */
export function refusalsOf(token: string, code?: number): string {
  const query = { token, ...(code === undefined ? {} : { code: `${code}` }) };
  return `#/refusals?${new URLSearchParams(query)}`;
}

/** What the page of the history shows. A field without a value is empty. */
export interface HistoryView {
  /** An error code, `failed`, or `refused`, which is all other codes. */
  readonly code: string;
  /** The whole name of a token or a subject. */
  readonly token: string;
  /** Start of the hour whose minutes are shown, in ms since the epoch. */
  readonly hour: string;
}

/** The address of the hours of all refusals, of some, or of the minutes of an hour. */
export function historyPath(view: Partial<HistoryView>): string {
  const asked = Object.entries(view).filter(([, value]) => value !== '');
  return asked.length === 0 ? '#/history' : `#/history?${new URLSearchParams(asked)}`;
}
