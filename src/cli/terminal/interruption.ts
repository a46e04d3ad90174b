import type { Terminal } from '../command.ts';

/**
 * Until this is disposed of, a signal to stop calls `say` and ends the process at once by the same
 * signal. A transaction that is under way takes effect whole or not at all.
 *
 * @param say says how far the command has come. The progress bar is gone by then.
 */
export function atInterruption(terminal: Terminal, say: (signal: string) => void): Disposable {
  let isOver = false;
  void terminal.untilSignal().then((signal) => {
    terminal.showProgress('');
    try {
      if (!isOver) say(signal);
    } finally {
      terminal.endBy(signal);
    }
  });
  return {
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}
