import type { CommandGroup, Definition, ListedCommand } from './cli/command.ts';

type Loaders = Readonly<Record<string, () => Promise<Definition>>>;

/** Every command, by the headings of the help and in its order. */
const groups: Readonly<Record<string, Loaders>> = {
  'The service': {
    serve: async () => (await import('./serve/command.ts')).serve,
    doctor: async () => (await import('./doctor/command.ts')).doctor,
    upgrade: async () => (await import('./serve/upgrade.ts')).upgrade,
    healthcheck: async () => (await import('./ops/command.ts')).healthcheck,
    open: async () => (await import('./ops/command.ts')).open,
    prove: async () => (await import('./prove/command.ts')).prove,
  },
  Tokens: {
    'token create': async () => (await import('./tokens/command.ts')).tokenCreate,
    'token list': async () => (await import('./tokens/command.ts')).tokenList,
    'token rotate': async () => (await import('./tokens/command.ts')).tokenRotate,
    'token update': async () => (await import('./tokens/command.ts')).tokenUpdate,
    'token revoke': async () => (await import('./tokens/command.ts')).tokenRevoke,
  },
  Plants: {
    'plants get': async () => (await import('./transfer/plants.ts')).plantsGet,
    'plants list': async () => (await import('./transfer/plants.ts')).plantsList,
    'plants count': async () => (await import('./transfer/plants.ts')).plantsCount,
  },
  'Moving data': {
    export: async () => (await import('./transfer/export.ts')).exportCommand,
    import: async () => (await import('./transfer/import.ts')).importCommand,
    copy: async () => (await import('./transfer/copy.ts')).copy,
  },
  Backups: {
    backup: async () => (await import('./backup/command.ts')).backup,
    restore: async () => (await import('./backup/restore.ts')).restore,
    verify: async () => (await import('./backup/verify.ts')).verify,
  },
  'The shell': {
    completion: async () => (await import('./cli/completion/completion.ts')).completion,
  },
};

export const commandGroups: readonly CommandGroup[] = Object.entries(groups).map(
  ([heading, loaders]) => ({
    heading,
    commands: Object.entries(loaders).map(
      ([name, load]): ListedCommand => ({ name, load: async () => ({ name, ...(await load()) }) }),
    ),
  }),
);
