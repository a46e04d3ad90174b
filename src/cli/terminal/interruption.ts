import type { Terminal } from '../command.ts';

/**
 * Until this is disposed of, a signal to stop says which work it has stopped, and ends the process
 * at once by the same signal. A transaction under way takes effect whole or not at all.
 *
 * @param goOn does what is left to do, and tells how to go on. The progress bar is gone by then.
 */
export function atInterruption(
  terminal: Terminal,
  work: string,
  goOn: () => string | undefined = () => undefined,
): Disposable {
  return terminal.onStopSignal((signal) => {
    terminal.showProgress('');
    try {
      const wayOut = goOn();
      const stopped = `plant-store: ${signal} has stopped ${work} before its end`;
      terminal.note(wayOut === undefined ? stopped : `${stopped}; ${wayOut}`, 'bad');
    } finally {
      terminal.endBy(signal);
    }
  });
}
