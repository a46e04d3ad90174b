import manifest from '../package.json' with { type: 'json' };
import type { Command } from '../src/cli/command.ts';
import { loadCommands } from '../src/cli/command.ts';
import { variableOf } from '../src/cli/flags/command-line.ts';
import { type FlagName, flags } from '../src/cli/flags/flags.ts';
import { commandGroups } from '../src/commands.ts';

const groups = await Promise.all(
  commandGroups.map(async ({ heading, commands }) => ({
    heading,
    commands: await loadCommands(commands),
  })),
);

/** plant-store(1), in the macros of man(7). */
export function manPage(): string {
  return `${[
    `.TH PLANT-STORE 1 "" "plant-store ${manifest.version}"`,
    '.SH NAME',
    `plant-store \\- ${escaped(manifest.description)}`,
    '.SH SYNOPSIS',
    '.B plant-store',
    '.I COMMAND',
    '[flags]',
    '.SH DESCRIPTION',
    'Plant Store keeps plants behind one HTTP operation, POST /plants.',
    'A 200 means that the plant is on disk.',
    ...groups.flatMap(({ heading, commands }) => [
      `.SH ${escaped(heading.toUpperCase())}`,
      ...commands.flatMap(commandText),
    ]),
    '.SH FLAGS',
    escaped(`Every flag has an environment variable: --store has ${variableOf('store')}.`),
    'A flag counts before its variable.',
    ...Object.keys(flags).flatMap((name) => flagText(name as FlagName)),
    '.SH EXIT STATUS',
    '0 done, 1 failed, 2 wrong usage.',
    '.SH FILES',
    ...item('/var/lib/plant-store', 'The store of the service, in data/plants.db.'),
    ...item('/etc/default/plant-store', 'Settings of the service: environment variables.'),
    ...item('/etc/plant-store/token', 'A token that the service admits.'),
    ...item(
      '/var/backups/plant-store',
      'Verified backups: one for each of the last 24 hours, 30 days and 52 weeks.',
    ),
  ].join('\n')}\n`;
}

function commandText({ name, positionals, summary, need, flags: names, examples }: Command) {
  return [
    `.SS plant-store ${escaped([name, ...positionals].join(' '))}${names.length > 0 ? ' [flags]' : ''}`,
    escaped(summary),
    escaped(need),
    ...(names.length > 0 ? ['.PP', escaped(`Flags: --${names.join(', --')}.`)] : []),
    '.PP',
    '.nf',
    ...examples.map(escaped),
    '.fi',
  ];
}

function flagText(name: FlagName): string[] {
  const { help, placeholder, default: usual } = flags[name];
  const byDefault = usual === undefined || placeholder === '' ? '' : ` (default ${usual})`;
  return item(escaped(`--${name} ${placeholder}`.trimEnd()), escaped(`${help}${byDefault}.`));
}

function item(name: string, text: string): string[] {
  return ['.TP', `.B ${name}`, text];
}

/** A line that begins with a dot or an apostrophe would be a request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&');
}
