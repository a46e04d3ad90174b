/**
 * Calls back after a time. A process that was stopped meanwhile finds its timers first, and only
 * then what has come for it: so that is taken in before the callback, and may still stop it.
 *
 * @returns what stops it
 */
export function setDeadline(ms: number, callBack: () => void): () => void {
  let rings: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    rings = setImmediate(callBack);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(rings);
  };
}
