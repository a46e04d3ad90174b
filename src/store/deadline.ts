/**
 * A paused process runs its timers before it reads its input: the extra turn of the event loop lets
 * input that has arrived cancel the deadline. @returns cancels it
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
