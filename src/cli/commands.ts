import type { Command, Definition } from './command.ts';

/**
 * A command whose module is loaded when it is asked for: to load those of all takes longer than
 * many a command runs.
 */
export interface ListedCommand {
  /** One word or two: `serve`, `token create`. */
  readonly name: string;
  load(): Promise<Command>;
}

/** Every command, in the order and under the headings of the help. */
export const commandGroups: readonly {
  readonly heading: string;
  readonly commands: readonly ListedCommand[];
}[] = [
  {
    heading: 'The service',
    commands: [
      listed('serve', async () => (await import('./serve/serve.ts')).serve),
      listed('doctor', async () => (await import('./doctor/doctor.ts')).doctor),
      listed('prove', async () => (await import('./prove/prove.ts')).prove),
    ],
  },
  {
    heading: 'Tokens',
    commands: [
      listed('token create', async () => (await import('./token.ts')).tokenCreate),
      listed('token list', async () => (await import('./token.ts')).tokenList),
      listed('token revoke', async () => (await import('./token.ts')).tokenRevoke),
    ],
  },
  {
    heading: 'Plants',
    commands: [
      listed('plants get', async () => (await import('./plants.ts')).plantsGet),
      listed('plants list', async () => (await import('./plants.ts')).plantsList),
      listed('plants count', async () => (await import('./plants.ts')).plantsCount),
    ],
  },
  {
    heading: 'Moving data',
    commands: [
      listed('export', async () => (await import('./transfer/export.ts')).exportPlantsCommand),
      listed('import', async () => (await import('./transfer/import.ts')).importPlantsCommand),
      listed('copy', async () => (await import('./transfer/copy.ts')).copy),
    ],
  },
  {
    heading: 'Backups',
    commands: [
      listed('backup', async () => (await import('./backup/backup.ts')).backup),
      listed('restore', async () => (await import('./backup/restore.ts')).restore),
      listed('verify', async () => (await import('./backup/verify.ts')).verify),
    ],
  },
  {
    heading: 'The shell',
    commands: [
      listed('completion', async () => (await import('./completion/completion.ts')).completion),
    ],
  },
];

export const listedCommands = commandGroups.flatMap((group) => group.commands);

export function loadCommands(
  listed: readonly ListedCommand[] = listedCommands,
): Promise<Command[]> {
  return Promise.all(listed.map((one) => one.load()));
}

function listed(name: string, load: () => Promise<Definition>): ListedCommand {
  return { name, load: async () => ({ name, ...(await load()) }) };
}
