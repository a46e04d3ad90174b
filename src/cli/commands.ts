import type { Command, Definition } from './command.ts';

/** A command whose module is loaded when needed: all modules take longer than many a command. */
export interface ListedCommand {
  /** One or two words: `serve`, `token create`. */
  readonly name: string;
  load(): Promise<Command>;
}

type Loaders = Readonly<Record<string, () => Promise<Definition>>>;

/** Every command, by the headings of the help and in its order. */
const groups: Readonly<Record<string, Loaders>> = {
  'The service': {
    serve: async () => (await import('./serve/serve.ts')).serve,
    doctor: async () => (await import('./doctor/doctor.ts')).doctor,
    healthcheck: async () => (await import('./healthcheck.ts')).healthcheck,
    open: async () => (await import('./operator/open.ts')).open,
    status: async () => (await import('./operator/status/status.ts')).status,
    tail: async () => (await import('./operator/tail.ts')).tail,
    explain: async () => (await import('./operator/explain.ts')).explain,
    prove: async () => (await import('./prove/prove.ts')).prove,
  },
  Tokens: {
    'token create': async () => (await import('./token.ts')).tokenCreate,
    'token list': async () => (await import('./token.ts')).tokenList,
    'token rotate': async () => (await import('./token.ts')).tokenRotate,
    'token update': async () => (await import('./token.ts')).tokenUpdate,
    'token revoke': async () => (await import('./token.ts')).tokenRevoke,
    'token inspect': async () => (await import('./token-inspect.ts')).tokenInspect,
  },
  Plants: {
    'plants get': async () => (await import('./plants/plants.ts')).plantsGet,
    'plants list': async () => (await import('./plants/plants.ts')).plantsList,
    'plants count': async () => (await import('./plants/plants.ts')).plantsCount,
  },
  'Moving data': {
    export: async () => (await import('./transfer/export.ts')).exportCommand,
    import: async () => (await import('./transfer/import.ts')).importCommand,
    send: async () => (await import('./transfer/send.ts')).send,
    copy: async () => (await import('./transfer/copy.ts')).copy,
  },
  Backups: {
    backup: async () => (await import('./backup/backup.ts')).backup,
    restore: async () => (await import('./backup/restore.ts')).restore,
    repair: async () => (await import('./backup/repair.ts')).repair,
    verify: async () => (await import('./backup/verify.ts')).verify,
    drill: async () => (await import('./backup/drill.ts')).drill,
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

/** What to type here for the words of other tools. */
const wordsOfOtherTools: readonly (readonly [words: readonly string[], ...meant: string[]])[] = [
  [['version'], '--version'],
  [['config', 'settings'], 'status --settings'],
  [['backups', 'snapshots'], 'status --backups'],
  [['log', 'logs', 'events', 'refusals'], 'tail'],
  [['list', 'ls', 'plants ls'], 'plants list'],
  [['get', 'show', 'plants show'], 'plants get ID'],
  [['search', 'find', 'plants search', 'plants find'], 'plants list --name-contains TEXT'],
  [['count'], 'plants count'],
  [['clients', 'users'], 'status --tokens'],
  [['start', 'run', 'up'], 'serve'],
  [['plants export'], 'export FILE', 'plants list … --format csv'],
  [['tokens', 'token ls', 'token get', 'token show'], 'token list'],
  [['token add', 'token new'], 'token create NAME'],
  [['token renew', 'token refresh', 'renew', 'rotate'], 'token rotate NAME'],
  [['delete', 'remove', 'rm', 'token delete', 'token remove', 'token rm'], 'token revoke NAME'],
];

/** @returns what follows `plant-store`, if the words are those of another tool */
export function meantByOtherTools(typed: string): readonly string[] | undefined {
  const [, ...meant] = wordsOfOtherTools.find(([words]) => words.includes(typed)) ?? [];
  return meant.length > 0 ? meant : undefined;
}

export function loadCommands(
  listed: readonly ListedCommand[] = listedCommands,
): Promise<Command[]> {
  return Promise.all(listed.map((one) => one.load()));
}
