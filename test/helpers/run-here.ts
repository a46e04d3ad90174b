import assert from 'node:assert/strict';
import type { Terminal } from '../../src/cli/command.ts';
import { run } from '../../src/cli/run.ts';
import { commandGroups } from '../../src/commands.ts';
import { besideOthers, type Ended, storeText } from './program.ts';

/**
 * Runs a command in this process, in a fifth of the time that a process of its own takes. For
 * commands whose pipes, signals and limits do not matter to the test; `serve` may only refuse.
 *
 * @param changes what the command finds in the place of a pipe for output and no input
 */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  changes: Partial<Terminal> = {},
): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    env: { ...besideOthers, ...env },
    print: (line) => void (printed.stdout += `${line}\n`),
    write: (text) => void (printed.stdout += text),
    input: () => assert.fail('the command reads its input'),
    note: (line) => (printed.stderr += `${line}\n`),
    showProgress: () => undefined,
    width: undefined,
    errorsWidth: undefined,
    errorsHaveColors: false,
    userId: process.geteuid?.(),
    onStopSignal: () => ({ [Symbol.dispose]: () => undefined }),
    onHangup: () => undefined,
    onOutputFailed: () => undefined,
    onExit: () => undefined,
    untilInterruptedAgain: () => new Promise(() => undefined),
    exit: () => assert.fail('the command ends its process'),
    endBy: () => assert.fail('the command ends its process'),
    ...changes,
  };
  const code = await run(args, terminal, commandGroups);
  return { code, ...printed };
}

export const on = (store: string) => ['--store', storeText(store)];

/** Runs a command here. @returns what it has printed @throws if it has failed */
export async function done(...args: string[]): Promise<Ended> {
  const ended = await runHere(args);
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** As `done`, with `--json`. @returns the records that it has printed */
export async function doneRecords(...args: string[]) {
  const { stdout } = await done(...args, '--json');
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** The same, for a command that prints one record. */
export async function doneJson(...args: string[]) {
  const [record, ...more] = await doneRecords(...args);
  assert.equal(more.length, 0);
  return record;
}

/** Runs a command here, which must fail with one line that matches. */
export async function refused(line: RegExp, ...args: string[]): Promise<void> {
  failed(await runHere(args), line);
}

export function failed({ code, stderr }: Ended, line: RegExp, expectedCode = 1): void {
  assert.match(stderr, line);
  assert.match(stderr, /^plant-store: [^\n]+\n$/, 'one line');
  assert.equal(code, expectedCode);
}
