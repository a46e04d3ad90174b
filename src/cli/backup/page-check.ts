import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { limits } from '../../limits.ts';
import { programCommand } from '../../program.ts';
import { sizeText } from '../../size-text.ts';
import { fileLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { pageCheckWord, type Terminal } from '../command.ts';

/** What the check of all pages of a store has found, or why the check has not reached its end. */
export type PageCheck = { readonly faults: readonly string[] } | { readonly unchecked: string };

/**
 * Checks every page of a store in one read transaction, in a process of its own. The transaction
 * holds the WAL, and SQLite does not stop in the middle of `PRAGMA integrity_check`: only the end of
 * the process ends the check when the WAL becomes too large.
 */
export async function checkPages(path: string): Promise<PageCheck> {
  const [program, ...args] = programCommand;
  const child = spawn(program, [...args, pageCheckWord, path], {
    // The process ends with the pipe, and so with this process.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (printed !== '') return JSON.parse(printed);
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  return { unchecked: `the process that checked them has ended early (${end})` };
}

/** `checkPages` in its own process. @returns the exit code */
export async function answerPageCheck(path: string, terminal: Terminal): Promise<number> {
  const store = sqliteEngine(fileLocation(path));
  const answer = (found: PageCheck) => terminal.print(JSON.stringify(found));
  const end = () => terminal.endBy('SIGKILL');
  const endIfTooLarge = () => {
    if (store.walBytes() <= limits.scrub.walBytesMax) return;
    answer({ unchecked: `the WAL is larger than ${sizeText(limits.scrub.walBytesMax)}` });
    end();
  };
  const watch = setInterval(endIfTooLarge, limits.scrub.walWatchMs);
  endIfTooLarge();
  const input = terminal.input();
  input.once('end', end).resume();
  try {
    answer({ faults: await store.pageFaults() });
  } finally {
    // Either would keep the process alive, and the scrub waits for its end.
    clearInterval(watch);
    input.destroy();
  }
  return 0;
}
