import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '../cli/flags/environment.ts';
import { limits } from '../limits.ts';
import { programCommand } from '../program.ts';
import { type StoreLocation, settingOf } from '../store/location.ts';

/** The program did not start, ended by itself, or refused a plant. */
export class ProofError extends Error {
  override readonly name = 'ProofError';
}

/** Starts the program on a free loopback port. @param stop kills the process at any time */
export async function startServer(env: Environment, location: StoreLocation, stop: AbortSignal) {
  const [program, ...args] = [...programCommand, 'serve', ...flags] as [string, ...string[]];
  const child = spawn(program, args, {
    env: { ...env, ...settingOf(location) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'close').then(
    () => undefined,
    // It could not be started.
    (error: Error) => error.message,
  );
  const kill = () => void child.kill('SIGKILL');
  const stderr = readStderr(child);
  stop.addEventListener('abort', kill);
  if (stop.aborted) kill();
  void exit.finally(() => stop.removeEventListener('abort', kill));
  const late = setTimeout(kill, limits.prove.answerMs);
  const port = await Promise.race([stderr.port, exit]);
  clearTimeout(late);
  if (typeof port !== 'number') {
    const silent =
      child.exitCode === null
        ? `it was not ready after ${limits.prove.answerMs / 1_000} s`
        : `exit code ${child.exitCode}`;
    throw new ProofError(`the service did not start: ${port ?? (stderr.last() || silent)}`);
  }
  return {
    port,
    kill,
    /** Resolves after the end of the process. @throws ProofError if `kill` was not the reason */
    async ended(): Promise<void> {
      await exit;
      if (child.signalCode !== 'SIGKILL')
        throw new ProofError(`the service has ended by itself: ${stderr.last()}`);
    },
    async [Symbol.asyncDispose]() {
      kill();
      await exit;
    },
  };
}

const flags = [
  // With operators there is a heartbeat, which ends the process if this process was killed and the
  // store has been removed since.
  ...['--host=127.0.0.1', '--port=0', '--ops-port=0'],
  '--log-format=json',
  // A disk that stalls is no fault of the service.
  `--commit-timeout=${limits.prove.answerMs}ms`,
];

/** The last line of stderr says why the process ended. */
const stderrCharsMax = 4_096;

function readStderr({ stderr }: ChildProcess): { port: Promise<number>; last(): string } {
  let printed = '';
  const port = Promise.withResolvers<number>();
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-stderrCharsMax);
    const ready = /"url":"http:\/\/127\.0\.0\.1:([0-9]+)\/plants".*"ready"/.exec(printed)?.[1];
    if (ready !== undefined) port.resolve(Number(ready));
  });
  return { port: port.promise, last: () => printed.trimEnd().split('\n').at(-1) ?? '' };
}
