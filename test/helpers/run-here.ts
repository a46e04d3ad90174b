import assert from 'node:assert/strict';
import { run } from '../../src/cli/run.ts';
import type { Ended } from './program.ts';

/**
 * What a process of its own would do with a command that neither reads input nor waits for a
 * signal, without the cost of one.
 */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  const code = await run(args, {
    env,
    print: (line) => void (printed.stdout += `${line}\n`),
    write: (text) => void (printed.stdout += text),
    input: () => assert.fail(),
    note: (line) => (printed.stderr += `${line}\n`),
    showProgress: () => undefined,
    width: undefined,
    errorsAreOnTerminal: false,
    errorsHaveColors: false,
    userId: undefined,
    untilSignal: () => assert.fail('the command has started'),
    untilInterruptedAgain: () => assert.fail('the command has started'),
    exit: () => assert.fail('the command has started'),
    endBy: () => assert.fail('the command has started'),
  });
  return { code, ...printed };
}
