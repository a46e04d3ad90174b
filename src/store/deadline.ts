/**
 * Calls back after a time. A process that was paused runs its timers before it reads its input; so
 * the callback runs after the input that is already there, which may still cancel it.
 *
 * @returns cancels the deadline
 */
export function setDeadline(ms: number, callBack: () => void): () => void {
  let due: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    due = setImmediate(callBack);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(due);
  };
}
