import { isSystemError } from '../disk/files.ts';
import { build, version } from '../program.ts';
import {
  type Command,
  type CommandGroup,
  type ListedCommand,
  listedIn,
  type Terminal,
} from './command.ts';
import { complete, completeWord } from './completion/completion.ts';
import { demandKnownVariables, demandNeeded, parseCommandLine } from './flags/command-line.ts';
import type { FlagName } from './flags/flags.ts';
import { suggestion } from './flags/suggestion.ts';
import { UsageError } from './flags/values.ts';

/** Runs a command. @returns the exit code: 0 done, 1 failed, 2 wrong usage */
export async function run(
  argv: readonly string[],
  terminal: Terminal,
  groups: readonly CommandGroup[],
): Promise<number> {
  try {
    return await dispatch(argv, terminal, groups);
  } catch (error) {
    terminal.showProgress('');
    if (error instanceof UsageError) {
      terminal.note(`plant-store: ${error.message}`, 'bad');
      return 2;
    }
    // By name: an error that comes from another thread has lost its class.
    const isExpected = error instanceof Error && expectedErrors.includes(error.name);
    if (!isExpected && !isSystemError(error)) throw error;
    const isFolderGone = isSystemError(error) && error.syscall === 'uv_cwd';
    const says = isFolderGone ? 'the current folder was removed; go to another one' : error.message;
    terminal.note(`plant-store: ${says}`, 'bad');
    return 1;
  }
}

const expectedErrors = ['CommandError', 'StoreOpenError', 'StoreError'];

async function dispatch(
  argv: readonly string[],
  terminal: Terminal,
  groups: readonly CommandGroup[],
): Promise<number> {
  const [first, second] = argv;
  const all = listedIn(groups);
  if (first === completeWord) return complete(argv.slice(1), terminal, all);
  if (first === 'help') return dispatch([...argv.slice(1), '--help'], terminal, groups);
  const family = all.filter(({ name }) => name.startsWith(`${first} `));
  if (first === undefined || isHelp(first) || (family.length > 0 && isHelp(second))) {
    const { showProgramHelp } = await import('./help.ts');
    const show = first === undefined ? terminal.note : terminal.print;
    await showProgramHelp(show, groups, family.length > 0 ? family : all);
    return first === undefined ? 2 : 0;
  }
  if (first === '--version' || first === '-V') {
    terminal.print(second === '--json' ? JSON.stringify(build) : version);
    return 0;
  }
  const listed = findCommand(argv, all, family);
  const rest = argv.slice(listed.name.split(' ').length);
  if (rest.some(isHelp)) {
    const { showCommandHelp } = await import('./help.ts');
    showCommandHelp(await listed.load(), terminal.print);
    return 0;
  }
  demandKnownVariables(terminal.env);
  const found = await listed.load();
  const { positionals, ...flags } = parseCommandLine<FlagName>(rest, found.flags, terminal.env);
  checkPositionals(found, positionals);
  demandNeeded(found.flags, flags.settings);
  return found.run({ ...flags, positionals }, terminal);
}

function isHelp(word: string | undefined): boolean {
  // A value, as in --help=yes, changes nothing.
  return word === '-h' || /^--help(=|$)/.test(word ?? '');
}

function findCommand(
  argv: readonly string[],
  all: readonly ListedCommand[],
  family: readonly ListedCommand[],
): ListedCommand {
  const found = all.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '));
  if (found) return found;
  const [first = '', second] = argv;
  const help = '"plant-store --help" lists the commands';
  if (first.startsWith('-'))
    throw new UsageError(`${first} is no command; flags come after the command; ${help}`);
  if (family.length > 0) throw wrongSecondWord(first, second, family);
  const words = [...all.map(({ name }) => name.replace(/ .*/, '')), 'version'];
  const wayOut = suggestion(
    first,
    words,
    help,
    (word) => `"plant-store ${word === 'version' ? '--version' : word}"`,
  );
  throw new UsageError(`there is no command ${JSON.stringify(first)}; ${wayOut}`);
}

function wrongSecondWord(
  first: string,
  second: string | undefined,
  family: readonly ListedCommand[],
): UsageError {
  const words = family.map(({ name }) => name.slice(first.length + 1));
  const quoted = (word: string) => `"plant-store ${first} ${word}"`;
  const known = words.map(quoted).join(', ');
  return second === undefined || second.startsWith('-')
    ? new UsageError(`${first} needs a second word: ${known}`)
    : new UsageError(
        `there is no command ${JSON.stringify(`${first} ${second}`)}; ` +
          suggestion(second, words, `there are ${known}`, quoted),
      );
}

/** A URL without --store may have a password, and a token of the store begins with `ps_`. */
function withoutSecrets(typed: string): string {
  return typed.replace(/(?<=:\/\/|\bps_).+/s, '…');
}

function checkPositionals(
  { name, positionals: expected }: Command,
  given: readonly string[],
): void {
  const needed = expected.filter((name) => !name.startsWith('['));
  const most = expected.at(-1)?.endsWith('...') ? given.length : expected.length;
  const empty = given.indexOf('');
  if (empty < 0 && given.length >= needed.length && given.length <= most) return;
  const missing = expected[empty < 0 ? given.length : Math.min(empty, expected.length - 1)];
  const what =
    missing === undefined
      ? `does not take ${JSON.stringify(withoutSecrets(given[expected.length] ?? ''))}`
      : `needs ${missing}`;
  throw new UsageError(`${name} ${what}; "plant-store ${name} --help" shows how it is used`);
}
