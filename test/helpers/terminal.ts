import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { commandLine } from './program.ts';
import { skipVisibly } from './skips.ts';

/**
 * Whether there is util-linux's script(1), which has a terminal for another program; otherwise the
 * test is skipped.
 */
export function hasTerminal(t: TestContext): boolean {
  if (/util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? ''))
    return true;
  skipVisibly(t, 'needs script(1) of util-linux');
  return false;
}

/**
 * Starts the real program on a terminal with the given number of columns. Its standard output has
 * what it writes there, errors too.
 */
export function startOnTerminal(
  columns: number,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): ChildProcess {
  const program = commandLine(...args)
    .flat()
    .map(quoted)
    .join(' ');
  const line = `stty cols ${columns} -opost; exec ${program}`;
  // Nothing else of the environment: a good dozen of variables, such as CI, turn colours on or off.
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, LANG: 'C.UTF-8', TERM: 'xterm-256color', ...variables };
  return spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** Runs it to its end. @returns what it has written */
export async function onTerminal(
  columns: number,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = startOnTerminal(columns, args, variables);
  return stdout ? await text(stdout) : '';
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
