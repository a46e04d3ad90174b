import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { limits } from '../limits.ts';
import type { ScratchStore } from './scratch-store.ts';

/** The program could not do its part: it did not start, ended by itself, or refused a plant. */
export class ProofError extends Error {
  override readonly name = 'ProofError';
}

export interface ServerOptions {
  /**
   * The program and its arguments, without the flags that say where it listens, stores and logs.
   */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The real program, as a process of its own on a free port of the loopback address. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  readonly startMs: number;
  kill(): void;
  /** Resolves when the process is gone. @throws ProofError if it was not by `kill` */
  ended(): Promise<void>;
}

/**
 * @param stop kills it at any time
 * @throws ProofError if it does not become ready
 */
export async function startServer(
  { command, env }: ServerOptions,
  { flag, env: storeEnv }: ScratchStore,
  stop: AbortSignal,
): Promise<Server> {
  const startedMs = performance.now();
  // A disk that stalls is no fault of the service, so it may take its time.
  const patience = ['--commit-timeout', `${limits.prove.answerMs}ms`];
  const flags = [
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--ops-port',
    'off',
    '--store',
    flag,
    '--log-format',
    'json',
    ...patience,
  ];
  const [program, ...args] = [...command, ...flags] as [string, ...string[]];
  const child = spawn(program, args, {
    env: { ...env, ...storeEnv },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'close');
  const kill = () => void child.kill('SIGKILL');
  const stderr = readStderr(child);
  stop.addEventListener('abort', kill);
  void exit.finally(() => stop.removeEventListener('abort', kill));
  const late = setTimeout(kill, limits.prove.answerMs);
  const port = await Promise.race([stderr.port, exit.then(() => undefined)]);
  clearTimeout(late);
  if (port === undefined) {
    const silent =
      child.exitCode === null
        ? `it was not ready after ${limits.prove.answerMs / 1_000} s`
        : `exit code ${child.exitCode}`;
    throw new ProofError(`the service did not start: ${stderr.last() || silent}`);
  }
  return {
    port,
    startMs: performance.now() - startedMs,
    kill,
    async ended() {
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

/** The end of what a server says is enough to tell why it ended. */
const saidCharsMax = 4_096;

function readStderr({ stderr }: ChildProcess): { port: Promise<number>; last(): string } {
  let said = '';
  const port = Promise.withResolvers<number>();
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-saidCharsMax);
    const ready = /"url":"http:\/\/127\.0\.0\.1:([0-9]+)\/plants".*"ready"/.exec(said)?.[1];
    if (ready !== undefined) port.resolve(Number(ready));
  });
  return { port: port.promise, last: () => said.trimEnd().split('\n').at(-1) ?? '' };
}
