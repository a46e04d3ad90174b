import type { Command, Definition } from './command.ts';

/** A command whose module is loaded when needed: all modules take longer than many a command. */
export interface ListedCommand {
  readonly name: string;
  load(): Promise<Command>;
}

type Loaders = Readonly<Record<string, () => Promise<Definition>>>;

/** Every command, by the headings of the help and in its order. */
const groups: Readonly<Record<string, Loaders>> = {
  'The service': {
    serve: async () => (await import('./serve/serve.ts')).serve,
    doctor: async () => (await import('./doctor/doctor.ts')).doctor,
    upgrade: async () => (await import('./upgrade.ts')).upgrade,
    healthcheck: async () => (await import('./healthcheck.ts')).healthcheck,
    open: async () => (await import('./operator/open.ts')).open,
    prove: async () => (await import('./prove/prove.ts')).prove,
  },
  Tokens: {
    'token create': async () => (await import('./token.ts')).tokenCreate,
    'token list': async () => (await import('./token.ts')).tokenList,
    'token rotate': async () => (await import('./token.ts')).tokenRotate,
    'token update': async () => (await import('./token.ts')).tokenUpdate,
    'token revoke': async () => (await import('./token.ts')).tokenRevoke,
  },
  Plants: {
    'plants get': async () => (await import('./plants.ts')).plantsGet,
    'plants list': async () => (await import('./plants.ts')).plantsList,
    'plants count': async () => (await import('./plants.ts')).plantsCount,
  },
  'Moving data': {
    export: async () => (await import('./transfer/export.ts')).exportCommand,
    import: async () => (await import('./transfer/import.ts')).importCommand,
    copy: async () => (await import('./transfer/copy.ts')).copy,
  },
  Backups: {
    backup: async () => (await import('./backup/backup.ts')).backup,
    restore: async () => (await import('./backup/restore.ts')).restore,
    verify: async () => (await import('./backup/verify.ts')).verify,
  },
  'The shell': {
    completion: async () => (await import('./completion/completion.ts')).completion,
  },
};

export const commandGroups = Object.entries(groups).map(([heading, loaders]) => ({
  heading,
  commands: Object.entries(loaders).map(
    ([name, load]): ListedCommand => ({ name, load: async () => ({ name, ...(await load()) }) }),
  ),
}));

export const listedCommands = commandGroups.flatMap((group) => group.commands);

export function loadCommands(
  listed: readonly ListedCommand[] = listedCommands,
): Promise<Command[]> {
  return Promise.all(listed.map((one) => one.load()));
}
