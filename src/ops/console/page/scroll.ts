/** A list that has not come by then is not waited for. */
const waitMs = 10_000;

/**
 * Keeps in the history how far each page is scrolled, and scrolls there again after "Back" and after
 * a reload. The browser itself would do so before the page has its content.
 */
export function keepScroll(): void {
  history.scrollRestoration = 'manual';
  addEventListener('scrollend', () => history.replaceState({ ...history.state, top: scrollY }, ''));
  // A path that the router has replaced or pushed is not trusted, and needs nothing.
  addEventListener('hashchange', ({ isTrusted }) => isTrusted && scrollAgain());
  scrollAgain();
}

/** A new entry of the history begins at the top. */
function scrollAgain(): void {
  const top: number = history.state?.top ?? 0;
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(waitMs)]);
  const growth = new ResizeObserver(() => {
    scrollTo(0, top);
    if (Math.abs(scrollY - top) <= 1) ending.abort();
  });
  signal.addEventListener('abort', () => growth.disconnect());
  for (const event of ['wheel', 'touchstart', 'pointerdown', 'keydown', 'hashchange'])
    addEventListener(event, () => ending.abort(), { signal });
  growth.observe(document.body);
}
