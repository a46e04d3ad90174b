import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Terminal } from './cli/command.ts';
import { run } from './cli/run.ts';

// A reader that has seen enough, such as `head`, closes the pipe: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

/** Not by the name that it was called by, which may be a link from anywhere. */
const program = fileURLToPath(new URL('../bin/plant-store.js', import.meta.url));

const terminal: Terminal = {
  env: process.env,
  print: (line) => (process.stdout.write(`${line}\n`) ? undefined : once(process.stdout, 'drain')),
  note: (line) => process.stderr.write(`${line}\n`),
  showProgress: (doing) => process.stderr.isTTY && process.stderr.write(`\r\u001b[K${doing}`),
  errorsAreOnTerminal: process.stderr.isTTY === true,
  untilSignal: () =>
    new Promise((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => resolve(name));
    }),
  userId: process.geteuid?.(),
  isRestricted: process.permission !== undefined,
  restart(nodeFlags) {
    flushCompileCache();
    process.execve?.(
      process.execPath,
      [process.execPath, ...process.execArgv, ...nodeFlags, program, ...process.argv.slice(2)],
      process.env,
    );
  },
  exit: (code) => process.exit(code),
  endBy: (signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  },
};

process.exitCode = await run(process.argv.slice(2), terminal);
