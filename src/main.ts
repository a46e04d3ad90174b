import { once } from 'node:events';
import { fstatSync, writeFileSync } from 'node:fs';
import type { Terminal } from './cli/command.ts';
import { run } from './cli/run.ts';
import { screenOf } from './cli/terminal/screen.ts';
import { limits } from './limits.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough, such as `head`, closes the pipe: that is no failure.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`plant-store: cannot write the output (${error.message})\n`);
  process.exit(1);
});
// Nobody is left to be told.
process.stderr.on('error', () => undefined);

const output = screenOf(process.stdout, process.env);
const errors = screenOf(process.stderr, process.env);

/**
 * A stream would write a part of the text to a file on a disk that becomes full, and say nothing.
 */
function write(text: string): Promise<unknown> | undefined {
  if (outputIsFile) writeFileSync(process.stdout.fd, text);
  else if (output.width !== undefined)
    for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) output.write(line);
  else if (!process.stdout.write(text)) return once(process.stdout, 'drain');
  return undefined;
}

const outputIsFile = fstatSync(process.stdout.fd).isFile();

const canReplaceLine = process.stderr.isTTY && process.env['TERM'] !== 'dumb';

const terminal: Terminal = {
  env: process.env,
  print: output.write,
  write,
  input: () => process.stdin,
  note: errors.write,
  get width() {
    return output.width;
  },
  // What goes on in the next line is not replaced by what comes after it.
  showProgress: (doing) =>
    canReplaceLine && process.stderr.write(`\r\u001b[K${doing.slice(0, (errors.width ?? 0) - 1)}`),
  errorsAreOnTerminal: process.stderr.isTTY === true,
  errorsHaveColors: errors.hasColors,
  // The listeners stay: without them a repeated signal would end the process in the middle of its
  // work.
  untilSignal: () =>
    new Promise((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => resolve(name));
    }),
  untilInterruptedAgain() {
    const calledMs = performance.now();
    return new Promise((resolve) => {
      process.on(
        'SIGINT',
        () => performance.now() - calledMs >= limits.service.interruptAgainMs && resolve(),
      );
    });
  },
  userId: process.geteuid?.(),
  exit: (code) => process.exit(code),
  endBy: (signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  },
};

process.exitCode = await run(process.argv.slice(2), terminal);
