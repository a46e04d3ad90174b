import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { listedIn, loadCommands } from '../../src/cli/command.ts';
import { commandGroups } from '../../src/commands.ts';
import { programInShell, runProgram, temporaryFolder } from '../helpers/program.ts';
import { skipVisibly } from '../helpers/skips.ts';

const commands = await loadCommands(listedIn(commandGroups));

/**
 * A folder with the store that is the default, with two tokens, and with the program as it is once
 * installed.
 */
async function workplace(): Promise<string> {
  const folder = await temporaryFolder({ after });
  mkdirSync(join(folder, 'data'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/plant-store'), `#!/bin/sh\nexec ${programInShell} "$@"\n`);
  chmodSync(join(folder, 'bin/plant-store'), 0o755);
  return folder;
}

const folder = await workplace();

/**
 * What is offered for the end of each line; `bash` is given the part of the last word that it would
 * replace.
 */
const expected: Readonly<Record<string, readonly string[]>> = {
  'plant-store ': [...new Set(commands.map(({ name }) => name.replace(/ .*/, '')))],
  'plant-store tok': ['token'],
  'plant-store token ': ['create', 'list', 'revoke', 'rotate', 'update'],
  'plant-store help plants g': ['get'],
  'plant-store plants list --na': ['--name-contains'],
  'plant-store plants list --json --jso': [],
  'plant-store serve --log-level ': ['debug', 'info', 'warn', 'error'],
  'plant-store token create x --role=o': ['--role=operate'],
  'plant-store import x --format ': ['csv', 'ndjson', 'tsv'],
  'plant-store plants list --format=c': ['--format=csv'],
  'plant-store completion z': ['zsh'],
  'plant-store serve --store ': ['sqlite:'],
  'plant-store serve --store sqlite:dat': ['sqlite:data'],
  'plant-store copy a.db sqlite:dat': ['sqlite:data'],
  'plant-store serve --token-file b': ['bin'],
  'plant-store verify dat': ['data'],
  'plant-store plants get ': [],
};

/**
 * Starts the shell once for all lines.
 *
 * @param args end what is offered for each of the lines that follow them by a line `@@`
 * @returns each line with its offers, as the shell prints them
 */
function inShell(
  t: TestContext,
  shell: string,
  args: readonly string[],
): readonly (readonly [line: string, offers: string[]])[] {
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    HOME: folder,
  };
  const lines = Object.keys(expected);
  const { error, stdout, stderr } = spawnSync(shell, [...args, ...lines], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  if (error) {
    skipVisibly(t, `needs ${shell}`);
    return [];
  }
  assert.equal(stderr, '');
  const printed = stdout.split('@@\n');
  assert.equal(printed.pop(), '');
  assert.equal(printed.length, lines.length);
  return lines.map((line, index) => [line, printed[index]?.split('\n').filter(Boolean) ?? []]);
}

/**
 * The offers without the slash that a folder ends with, and without what a shell says beside them.
 *
 * @param kept what each offer comes after
 */
function assertOffers(line: string, offers: readonly string[], kept = ''): void {
  const words = offers.map((offer) => kept + offer.replace(/\t.*/, '').replace(/\/$/, ''));
  assert.deepEqual(words.toSorted(), [...(expected[line] ?? [])].toSorted(), line);
}

test('bash completes commands, flags, their values, tokens and files', (t) => {
  const script = `source <(plant-store completion bash)
    for line; do
      COMP_LINE=$line COMP_POINT=\${#line}; _plant_store plant-store "\${line##*[ =:]}"; printf '%s\\n' "\${COMPREPLY[@]}" @@
    done`;
  for (const [line, offers] of inShell(t, 'bash', ['-c', script, 'bash'])) {
    // Bash replaces what comes after the last = or :.
    const kept = /[^ ]*[=:]$/.exec(line.replace(/[^=: ]*$/, ''))?.[0] ?? '';
    assertOffers(line, offers, kept);
  }
});

test('fish completes the same', (t) => {
  const script =
    'plant-store completion fish | source; for line in $argv; complete -C $line; echo @@; end';
  for (const [line, offers] of inShell(t, 'fish', ['--no-config', '-c', script]))
    assertOffers(line, offers);
});

test('zsh completes the same', (t) => {
  // Completion runs in the line editor only, so the two functions that hand it words are replaced
  // by ones that print them.
  const script = `
    compdef() { :; }; source <(plant-store completion zsh)
    compadd() { print -rl -- "\${(@P)@[-1]}"; }
    compset() { [[ $1 == -P && $2 == 1 && $PREFIX == *=* ]] && PREFIX=\${PREFIX#*=}; [[ $2 == sqlite: ]] && PREFIX=\${PREFIX#sqlite:}; }
    _files() { print -rl -- $PREFIX*(N); }
    for line; do words=("\${(@)\${(@s: :)line}}"); CURRENT=$#words; PREFIX=$words[-1]; _plant_store; print @@; done`;
  for (const [line, offers] of inShell(t, 'zsh', ['-f', '-c', script, 'zsh']))
    assertOffers(line, offers, line.includes('sqlite:') ? 'sqlite:' : '');
});

test('a shell that is not known is wrong usage', async () => {
  const { code, stdout, stderr } = await runProgram(['completion', 'tcsh']);
  const refusal = [2, '', 'plant-store: SHELL must be one of bash, zsh, fish; it is "tcsh"\n'];
  assert.deepEqual([code, stdout, stderr], refusal);
});
