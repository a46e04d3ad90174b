import {
  type Command,
  type CommandGroup,
  type ListedCommand,
  listedIn,
  loadCommands,
} from './command.ts';
import { variableOf } from './flags/command-line.ts';
import { type FlagName, flags, helpOf } from './flags/flags.ts';
import type { Style } from './terminal/screen.ts';
import { hanging, wrapped } from './terminal/wrap.ts';

type Show = (line: string, style?: Style) => unknown;

/** @param family the commands to list: all, or those with the same first word */
export async function showProgramHelp(
  show: Show,
  groups: readonly CommandGroup[],
  family: readonly ListedCommand[],
): Promise<void> {
  show('Plant Store: a store of plants behind one durable operation, POST /plants.');
  show('');
  show('Usage: plant-store COMMAND [flags]');
  const usageChars = Math.max(
    ...(await loadCommands(listedIn(groups))).map((known) => usage(known).length),
  );
  for (const { heading, commands } of groups) {
    const listed = commands.filter((one) => family.some(({ name }) => name === one.name));
    if (listed.length === 0) continue;
    show('');
    show(`${heading}:`, 'heading');
    for (const known of await loadCommands(listed))
      for (const line of item(usage(known), usageChars, known.summary)) show(line);
  }
  show('');
  show('plant-store help COMMAND shows the flags and examples of a command.');
  show('plant-store --version [--json] shows the version.');
  show('Exit codes: 0 done, 1 failed, 2 wrong usage.');
}

export function showCommandHelp(known: Command, show: Show): void {
  const { flags: names, headings = { Flags: names } } = known;
  for (const line of wrapped(`${known.summary} ${known.need}`)) show(line);
  show('');
  show(`Usage: plant-store ${usage(known)}${names.length > 0 ? ' [flags]' : ''}`);
  show('');
  if (names.length > 0) showFlags(known, headings, show);
  show('Examples:', 'heading');
  for (const example of known.examples) show(`  ${example}`);
}

/** The text of a flag with a longer name begins on the next line. */
const flagCharsMax = '--ops-tls-certificate FILE'.length;

function showFlags(
  { name: command, flags: names }: Command,
  headings: NonNullable<Command['headings']>,
  show: Show,
): void {
  const typed = (name: FlagName) => `--${name} ${flags[name].placeholder}`.trimEnd();
  const longest = Math.max(...names.map((name) => typed(name).length));
  const nameChars = Math.min(longest, flagCharsMax);
  for (const [heading, some] of Object.entries(headings)) {
    show(`${heading}:`, 'heading');
    for (const name of some)
      for (const line of item(typed(name), nameChars, helpOf(name, command) + usual(name)))
        show(line);
    show('');
  }
  const [first = 'store'] = names;
  show(`Every flag has an environment variable: --${first} has ${variableOf(first)}.`);
  show('A flag counts before its variable.');
  show('');
}

function usage({ name, positionals }: Command): string {
  return [name, ...positionals].join(' ');
}

function usual(name: FlagName): string {
  const { default: value, placeholder } = flags[name];
  return value === undefined || placeholder === '' ? '' : ` (default ${value})`;
}

/** The name, and beside it the text in as many lines as it takes. */
function item(name: string, nameChars: number, text: string): string[] {
  return hanging(`  ${name}`, text, nameChars + '    '.length);
}
