import assert from 'node:assert/strict';
import type { Terminal } from '../../src/cli/command.ts';
import { run } from '../../src/cli/run.ts';
import { besideOthers, type Ended } from './program.ts';

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
  const code = await run(args, {
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
    untilSignal: () => new Promise(() => undefined),
    onHangup: () => undefined,
    onOutputFailed: () => undefined,
    onExit: () => undefined,
    untilInterruptedAgain: () => new Promise(() => undefined),
    exit: () => assert.fail('the command ends its process'),
    endBy: () => assert.fail('the command ends its process'),
    ...changes,
  });
  return { code, ...printed };
}
