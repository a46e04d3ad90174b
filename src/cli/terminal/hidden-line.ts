import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';

/**
 * Reads one line that a person types or pastes at a terminal, which does not show the line.
 *
 * @param ask is called once the terminal shows no more what is typed
 * @returns the line; empty at the end of the input; undefined after Ctrl-C
 */
export function hiddenLine(input: ReadStream, ask: () => void): Promise<string | undefined> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: hidden, terminal: true, historySize: 0 });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  lines.once('line', (line) => resolve(line));
  lines.once('SIGINT', () => resolve(undefined));
  lines.once('close', () => resolve(''));
  ask();
  return promise.finally(() => lines.close());
}
