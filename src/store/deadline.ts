/**
 * A paused process runs its timers before it reads its input. The extra turn of the event loop lets
 * input that has already arrived cancel the deadline.
 *
 * @returns cancels the deadline
 */
export function setDeadline(ms: number, callBack: () => void): () => void {
  let due: NodeJS.Immediate | undefined;
  const wait = () => {
    due = setImmediate(callBack);
  };
  const timer = setTimeout(wait, Math.max(0, ms));
  return () => {
    clearTimeout(timer);
    clearImmediate(due);
  };
}
