import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog, Facts } from './components.ts';
import { html } from './html.ts';

/** A page that a key leads to, after `g`. */
export interface KeyedPage {
  readonly path: string;
  readonly title: string;
  readonly key: string;
}

/** The second key of a pair counts for this time. */
const pairMs = 1_500;
const searchPath = '/plants';
const setting = 'plant-store.shortcuts';

/**
 * Keyboard shortcuts, and the dialog that lists them. They are single characters, so they can be
 * turned off (WCAG 2.2, 2.1.4), and do nothing while somebody types or a dialog is open.
 *
 * @param path the page that is shown
 */
export function useShortcuts(pages: readonly KeyedPage[], path: string) {
  const [isListed, setListed] = useState(false);
  const [areOn, setOn] = useState(() => localStorage.getItem(setting) !== 'off');
  const isSearchAsked = useRef(false);

  useEffect(() => {
    if (!areOn) return;
    let goUntilMs = 0;
    const follow = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      const isSecond = event.timeStamp < goUntilMs;
      goUntilMs = 0;
      const page = isSecond ? pages.find(({ key }) => key === event.key) : undefined;
      if (page) location.hash = `#${page.path}`;
      else if (event.key === 'g') goUntilMs = event.timeStamp + pairMs;
      else if (event.key === '?') setListed(true);
      else if (event.key === '/') isSearchAsked.current = !focusSearch();
      else return;
      if (isSearchAsked.current) location.hash = `#${searchPath}`;
      event.preventDefault();
    };
    document.addEventListener('keydown', follow);
    return () => document.removeEventListener('keydown', follow);
  }, [areOn, pages]);

  useEffect(() => {
    if (isSearchAsked.current) focusSearch();
    isSearchAsked.current = false;
  }, [path]);

  const turn = ({ currentTarget: { checked } }: { currentTarget: HTMLInputElement }) => {
    localStorage.setItem(setting, checked ? 'on' : 'off');
    setOn(checked);
  };
  const list = html`
    <${Dialog} title="Keyboard shortcuts" onClose=${() => setListed(false)}>
      <${Facts} facts=${[
        [html`<kbd>?</kbd>`, 'Show this list'],
        [html`<kbd>/</kbd>`, path === '/refusals' ? 'Filter the refusals' : 'Search plants'],
        ...pages.map(({ key, title }) => [html`<kbd>g</kbd> <kbd>${key}</kbd>`, title]),
        [html`<kbd>Esc</kbd>`, 'Close a dialog'],
      ]} />
      <label class="switch"><input type="checkbox" checked=${areOn} onChange=${turn} /> Use keyboard shortcuts</label>
      <div class="actions"><button autofocus onClick=${() => setListed(false)}>Close</button></div>
    <//>`;
  return { show: () => setListed(true), dialog: isListed && list };
}

/** A checkbox or a radio button keeps the focus after a click. */
const typedInto =
  'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]';

function isShortcut({
  key,
  ctrlKey,
  metaKey,
  altKey,
  isComposing,
  target,
}: KeyboardEvent): boolean {
  if (key.length !== 1 || ctrlKey || metaKey || altKey || isComposing) return false;
  const isTyping = target instanceof Element && target.closest(typedInto);
  return !isTyping && document.querySelector('dialog[open]') === null;
}

/** @returns whether the page has a search */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('[role="search"] input:enabled');
  field?.focus();
  field?.select();
  return field !== null;
}
