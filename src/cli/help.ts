import { variableOf } from '../config/command-line.ts';
import { type FlagName, flags } from '../config/flags.ts';
import type { Command } from './command.ts';
import { commandGroups, type ListedCommand, loadCommands } from './commands.ts';
import type { Style } from './terminal/screen.ts';
import { hanging, wrapped } from './terminal/wrap.ts';

type Show = (line: string, style?: Style) => unknown;

export async function showProgramHelp(show: Show): Promise<void> {
  const showText = (text: string) => {
    for (const line of wrapped(text)) show(line);
  };
  showText('Plant Store: a store of plants behind one durable operation, POST /plants.');
  show('');
  show('Usage: plant-store COMMAND [flags]');
  const usageChars = Math.max(...(await loadCommands()).map((known) => usage(known).length));
  for (const group of commandGroups) {
    show('');
    show(`${group.heading}:`, 'heading');
    for (const known of await loadCommands(group.commands))
      for (const line of item(usage(known), usageChars, known.summary)) show(line);
  }
  show('');
  showText(
    'plant-store help COMMAND shows the flags and examples of a command, and plant-store --version [--json] the version.',
  );
  showText('Exit codes: 0 done, 1 failed, 2 wrong usage.');
}

/** @param family commands with the same first word */
export async function showFamilyHelp(family: readonly ListedCommand[], show: Show): Promise<void> {
  const commands = await loadCommands(family);
  const usageChars = Math.max(...commands.map((known) => usage(known).length));
  for (const known of commands)
    for (const line of item(usage(known), usageChars, known.summary)) show(line);
  show('');
  const more = `"plant-store help ${family[0]?.name}" shows the flags and examples of that command.`;
  for (const line of wrapped(more)) show(line);
}

export function showCommandHelp(known: Command, show: Show): void {
  for (const line of wrapped(`${known.summary} ${known.need}`)) show(line);
  show('');
  const shape = `${usage(known)}${known.flags.length > 0 ? ' [flags]' : ''}`;
  show(`Usage: plant-store ${shape}`);
  show('');
  for (const line of flagLines(known)) show(...line);
  show('Examples:', 'heading');
  for (const example of known.examples) show(`  ${example}`);
}

type Line = readonly [text: string, style?: Style];

function flagLines({ flags: names }: Command): Line[] {
  const [first] = names;
  if (first === undefined) return [];
  const typed = names.map((name) => `--${name} ${flags[name].placeholder}`.trimEnd());
  const typedChars = Math.max(...typed.map((one) => one.length));
  const items = names.flatMap((name, index) => {
    const { help, need } = flags[name];
    return item(typed[index] ?? '', typedChars, `${help}${usual(name)}`, need);
  });
  const variables = `Every flag has an environment variable: --${first} has ${variableOf(first)}.`;
  const lines = [...items, '', ...wrapped(variables)];
  return [
    ['Flags:', 'heading'],
    ...lines.map((line) => [line] as const),
    ['A flag counts before its variable.'],
    [''],
  ];
}

function usage({ name, positionals }: Command): string {
  return [name, ...positionals].join(' ');
}

function usual(name: FlagName): string {
  const { default: value, placeholder } = flags[name];
  return value === undefined || placeholder === '' ? '' : ` (default ${value})`;
}

/** More lines hide what the flag does. */
const itemLinesMax = 3;

/** The name, and beside it the text in as many lines as it takes, with `more` if it is short. */
function item(name: string, nameChars: number, text: string, more = ''): string[] {
  const linesOf = (says: string) => hanging(`  ${name}`, says, nameChars + '    '.length);
  const withMore = linesOf(`${text}. ${more}`);
  return more !== '' && withMore.length <= itemLinesMax ? withMore : linesOf(text);
}
