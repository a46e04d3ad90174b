import { once } from 'node:events';
import { fstatSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import type { Terminal } from './cli/command.ts';
import { run } from './cli/run.ts';
import { showSteps } from './cli/terminal/progress.ts';
import { screenOf } from './cli/terminal/screen.ts';
import { commandGroups } from './commands.ts';
import { limits } from './limits.ts';

// The launcher's limit of the young generation is for the main thread. Threads have their own.
setFlagsFromString('--max-semi-space-size=0');

/*
 * Threads of Node for files and lookups of names, which all threads share. The number is read at the
 * first use. Lookups take half of the threads. Each certificate, the folder of backups, the last
 * backup and the log may hold one for as long as their disk does not answer. The syncs of the store
 * need two.
 */
if (!(Number(process.env['UV_THREADPOOL_SIZE']) >= 8)) process.env['UV_THREADPOOL_SIZE'] = '8';
// A lookup cannot be cancelled, and a stop waits for it: 10 s for each name server that is silent.
process.env['RES_OPTIONS'] ??= 'timeout:1 attempts:2';

// A SIGUSR1 would open the inspector of Node, to which every user of the machine can attach.
for (const name of ['SIGUSR1', 'SIGUSR2']) process.on(name, () => undefined);

// The source strips its types for the console. The warning of Node would be a line of the log.
const [warn] = process.listeners('warning');
process.removeAllListeners('warning').on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') warn?.(warning);
});

let outputFailed = (error: NodeJS.ErrnoException): void => {
  // A reader such as `head` closes the pipe when it has read enough, which is no failure.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`plant-store: cannot write the output (${error.message})\n`);
  process.exit(1);
};
process.stdout.on('error', (error) => outputFailed(error));
// An error of the error stream cannot be reported.
process.stderr.on('error', () => undefined);

const output = screenOf(process.stdout, process.env);
const errors = screenOf(process.stderr, process.env);

/** On a full disk, a stream would write a part of the text and report no error. */
function write(text: string): Promise<unknown> | undefined {
  if (outputIsFile) writeFileSync(process.stdout.fd, text);
  else if (output.width !== undefined)
    for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) output.write(line);
  else if (!process.stdout.write(text)) return once(process.stdout, 'drain');
  return undefined;
}

const outputIsFile = fstatSync(process.stdout.fd).isFile();

/** File descriptors. They stop being terminals when the window of the terminal is closed. */
const terminals = [0, 1, 2].filter(isatty);

const showStep = showSteps({
  isTerminal: process.stderr.isTTY && process.env['TERM'] !== 'dumb',
  // Cut to one line: a further line would not be replaced.
  replaceLine: (text) =>
    process.stderr.write(`\r\u001b[K${text.slice(0, (errors.width ?? 0) - 1)}`),
  addLine: errors.write,
});

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT'];

const terminal: Terminal = {
  env: process.env,
  print: output.write,
  write,
  input: () => process.stdin,
  note: errors.write,
  get width() {
    return output.width;
  },
  showProgress: showStep,
  get errorsWidth() {
    return errors.width;
  },
  errorsHaveColors: errors.hasColors,
  onStopSignal(listener) {
    for (const signal of stopSignals) process.prependListener(signal, listener);
    return {
      [Symbol.dispose]() {
        for (const signal of stopSignals) process.off(signal, listener);
      },
    };
  },
  untilInterruptedAgain() {
    const calledMs = performance.now();
    return new Promise((resolve) => {
      process.on(
        'SIGINT',
        () => performance.now() - calledMs >= limits.service.interruptAgainMs && resolve(),
      );
    });
  },
  onHangup: (listener) =>
    void process.on('SIGHUP', () => {
      if (terminals.every(isatty)) return listener();
      process.kill(process.pid, 'SIGTERM');
    }),
  onOutputFailed: (listener) => {
    outputFailed = listener;
  },
  onExit: (listener) => void process.on('exit', listener),
  userId: process.geteuid?.(),
  exit(code) {
    // Node's exit waits for what it does with files, and a disk may never answer. A signal does not.
    if (isWorkingWithFiles()) terminal.endBy(code === 0 ? 'SIGTERM' : 'SIGKILL');
    process.exit(code);
  },
  endBy: (signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  },
};

process.exitCode = await run(process.argv.slice(2), terminal, commandGroups);
// Output that is not read delays the exit. Messages that are not read do not.
await new Promise((resolve) => process.stdout.write('', resolve));
// Such as a line of the log. `serve` calls `exit` when it has waited for long enough.
while (isWorkingWithFiles()) await delay(limits.service.logRetryMs);
// An exit closes no connection to a store. After a failure of the disk, the last one would sync.
process.exit();

function isWorkingWithFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}
