import { variableOf } from '../config/command-line.ts';
import { type FlagName, flags } from '../config/flags.ts';
import type { Command } from './command.ts';
import { commandGroups, loadCommands } from './commands.ts';
import type { Style } from './terminal/screen.ts';

type Show = (line: string, style?: Style) => unknown;

/** Columns. Longer lines are hard to read. */
const width = 80;

export async function showProgramHelp(show: Show): Promise<void> {
  show('Plant Store: a store of plants behind one durable operation, POST /plants.');
  show('');
  show('Usage: plant-store COMMAND [flags]');
  const usageChars = Math.max(...(await loadCommands()).map((known) => usage(known).length));
  for (const group of commandGroups) {
    show('');
    show(`${group.heading}:`, 'heading');
    for (const known of await loadCommands(group.commands))
      showItem(usage(known), usageChars, known.summary, show);
  }
  show('');
  show('plant-store help COMMAND shows the flags and examples of a command, and');
  show('plant-store --version [--json] the version.');
  show('Exit codes: 0 done, 1 failed, 2 wrong usage.');
}

export function showCommandHelp(known: Command, show: Show): void {
  for (const line of wrapped(`${known.summary} ${known.need}`, width)) show(line);
  show('');
  show(`Usage: plant-store ${usage(known)}${known.flags.length > 0 ? ' [flags]' : ''}`);
  show('');
  showFlags(known.flags, show);
  show('Examples:', 'heading');
  for (const example of known.examples) show(`  ${example}`);
}

function showFlags(names: readonly FlagName[], show: Show): void {
  const [first] = names;
  if (first === undefined) return;
  const typed = names.map((name) => `--${name} ${flags[name].placeholder}`.trimEnd());
  const typedChars = Math.max(...typed.map((one) => one.length));
  show('Flags:', 'heading');
  for (const [index, name] of names.entries())
    showItem(typed[index] ?? '', typedChars, flagHelp(name), show, flags[name].need);
  show('');
  show(`Every flag has an environment variable: --${first} has ${variableOf(first)}.`);
  show('A flag counts before its variable.');
  show('');
}

function usage({ name, positionals }: Command): string {
  return [name, ...positionals].join(' ');
}

function flagHelp(name: FlagName): string {
  const { help, default: usual, placeholder } = flags[name];
  return usual === undefined || placeholder === '' ? help : `${help} (default ${usual})`;
}

/** More lines hide what the flag does. */
const itemLinesMax = 3;

/** The name, and beside it the text in as many lines as it takes, with `more` if it is short. */
function showItem(name: string, nameChars: number, text: string, show: Show, more = ''): void {
  const indent = nameChars + '    '.length;
  const withMore = wrapped(`${text}. ${more}`, width - indent);
  const isShort = more !== '' && withMore.length <= itemLinesMax;
  const lines = isShort ? withMore : wrapped(text, width - indent);
  for (const [index, line] of lines.entries())
    show(`${(index === 0 ? `  ${name}` : '').padEnd(indent)}${line}`);
}

function wrapped(text: string, chars: number): string[] {
  return text.match(new RegExp(`\\S.{0,${chars - 1}}(?=\\s|$)`, 'g')) ?? [];
}
