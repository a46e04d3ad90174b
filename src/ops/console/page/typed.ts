import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { replacePath } from './router.ts';

/** Pause in the typing after which a filter counts as finished. */
const typingMs = 250;

/**
 * What the fields of a filter show. The address follows after a pause in the typing, and with the
 * address the view of the page. A link that changes the view changes the fields.
 *
 * @param view what the address asks for
 * @param pathOf the address of a view
 */
export function useTyped<View>(view: View, pathOf: (view: View) => string) {
  const [typed, setTyped] = useState(view);
  const asked = useRef(view);
  useEffect(() => {
    if (typed === asked.current) return;
    const typing = setTimeout(() => {
      asked.current = typed;
      replacePath(pathOf(typed));
    }, typingMs);
    return () => clearTimeout(typing);
  }, [typed]);
  // A layout effect runs before anything can be typed.
  useLayoutEffect(() => {
    if (pathOf(asked.current) === pathOf(view)) return;
    asked.current = view;
    setTyped(view);
  }, [view]);
  const type = (change: Partial<View>) => setTyped((last) => ({ ...last, ...change }));
  return [typed, type] as const;
}
