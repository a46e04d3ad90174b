import { variableOf } from '../config/command-line.ts';
import { type FlagName, flags } from '../config/flags.ts';
import type { Command } from './command.ts';
import { commandGroups, type ListedCommand, loadCommands } from './commands.ts';
import type { Style } from './terminal/screen.ts';
import { hanging, helpColumns, wrapped, wrappedCommand } from './terminal/wrap.ts';

/** Where help is shown. */
export interface Page {
  show(line: string, style?: Style): unknown;
  /** Of the terminal. Undefined for a file or a pipe. */
  readonly width: number | undefined;
}

export async function showProgramHelp({ show, width }: Page): Promise<void> {
  const columns = helpColumns(width);
  const showText = (text: string) => {
    for (const line of wrapped(text, columns)) show(line);
  };
  showText('Plant Store: a store of plants behind one durable operation, POST /plants.');
  show('');
  show('Usage: plant-store COMMAND [flags]');
  const usageChars = Math.max(...(await loadCommands()).map((known) => usage(known).length));
  for (const group of commandGroups) {
    show('');
    show(`${group.heading}:`, 'heading');
    for (const known of await loadCommands(group.commands))
      for (const line of item(usage(known), usageChars, known.summary, columns)) show(line);
  }
  show('');
  showText(
    'plant-store help COMMAND shows the flags and examples of a command, and plant-store --version [--json] the version.',
  );
  showText('Exit codes: 0 done, 1 failed, 2 wrong usage.');
}

/** @param family commands with the same first word */
export async function showFamilyHelp(
  family: readonly ListedCommand[],
  { show, width }: Page,
): Promise<void> {
  const columns = helpColumns(width);
  const commands = await loadCommands(family);
  const usageChars = Math.max(...commands.map((known) => usage(known).length));
  for (const known of commands)
    for (const line of item(usage(known), usageChars, known.summary, columns)) show(line);
  show('');
  const more = `"plant-store help ${family[0]?.name}" shows the flags and examples of that command.`;
  for (const line of wrapped(more, columns)) show(line);
}

export function showCommandHelp(known: Command, { show, width }: Page): void {
  const columns = helpColumns(width);
  for (const line of wrapped(`${known.summary} ${known.need}`, columns)) show(line);
  show('');
  const shape = `${usage(known)}${known.flags.length > 0 ? ' [flags]' : ''}`;
  const [first = '', ...rest] = wrapped(`Usage: plant-store ${shape}`, columns - 2);
  for (const line of [first, ...rest.map((more) => `  ${more}`)]) show(line);
  show('');
  for (const line of flagLines(known, columns)) show(...line);
  show('Examples:', 'heading');
  // A file or a pipe gets a command whole.
  for (const example of known.examples)
    for (const line of wrappedCommand(example, width ?? Number.POSITIVE_INFINITY)) show(line);
}

type Line = readonly [text: string, style?: Style];

function flagLines({ flags: names, texts = {} }: Command, columns: number): Line[] {
  const [first] = names;
  if (first === undefined) return [];
  const typed = names.map((name) => `--${name} ${flags[name].placeholder}`.trimEnd());
  const typedChars = Math.max(...typed.map((one) => one.length));
  const items = names.flatMap((name, index) => {
    const { help, need } = texts[name] ?? flags[name];
    return item(typed[index] ?? '', typedChars, `${help}${usual(name)}`, columns, need);
  });
  const variables = `Every flag has an environment variable: --${first} has ${variableOf(first)}.`;
  const lines = [...items, '', ...wrapped(variables, columns)];
  return [
    ['Flags:', 'heading'],
    ...lines.map((line) => [line] as const),
    ...wrapped('A flag counts before its variable.', columns).map((line) => [line] as const),
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
function item(name: string, nameChars: number, text: string, columns: number, more = ''): string[] {
  const linesOf = (says: string) => hanging(`  ${name}`, says, nameChars + '    '.length, columns);
  const withMore = linesOf(`${text}. ${more}`);
  return more !== '' && withMore.length <= itemLinesMax ? withMore : linesOf(text);
}
