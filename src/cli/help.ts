import { variableOf } from '../config/command-line.ts';
import { type FlagName, flags } from '../config/flags.ts';
import type { Command } from './command.ts';
import { commands } from './commands.ts';

export function programHelp(): string {
  const width = Math.max(...commands.map((known) => usage(known).length));
  return [
    'Plant Store: a store of plants behind one durable operation, POST /plants.',
    '',
    'Usage: plant-store COMMAND [flags]',
    '',
    ...commands.map((known) => `  ${usage(known).padEnd(width)}  ${known.summary}`),
    '',
    'plant-store COMMAND --help shows the flags and examples of a command, plant-store --version the version.',
    'Exit codes: 0 done, 1 failed, 2 wrong usage.',
  ].join('\n');
}

export function commandHelp(known: Command): string {
  const names = known.flags.map((name) => `--${name} ${flags[name].placeholder}`.trimEnd());
  const width = Math.max(...names.map((name) => name.length));
  return [
    known.summary,
    '',
    `Usage: plant-store ${usage(known)} [flags]`,
    '',
    ...known.flags.map((name, index) => `  ${names[index]?.padEnd(width)}  ${flagHelp(name)}`),
    '',
    `Every flag has an environment variable, for example ${variableOf(known.flags[0] as FlagName)}; the flag counts first.`,
    '',
    'Examples:',
    ...known.examples.map((example) => `  ${example}`),
  ].join('\n');
}

function usage({ name, positionals }: Command): string {
  return [name, ...positionals].join(' ');
}

function flagHelp(name: FlagName): string {
  const { help, default: usual, placeholder } = flags[name];
  return usual === undefined || placeholder === '' ? help : `${help} (default ${usual})`;
}
