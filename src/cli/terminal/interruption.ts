import type { Terminal } from '../command.ts';

/**
 * Until this is disposed of, SIGINT and SIGTERM have the command say how far it has come, and end
 * the process by that signal at once. What is under way then, such as a transaction, takes effect
 * whole or not at all.
 *
 * @param say told when a line of progress has been removed
 */
export function atInterruption(terminal: Terminal, say: (signal: string) => void): Disposable {
  let isOver = false;
  void terminal.untilSignal().then((signal) => {
    terminal.showProgress('');
    if (!isOver) say(signal);
    terminal.endBy(signal);
  });
  return {
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}
