import { limits } from '../limits.ts';

/**
 * The operator of commands, and of all sessions that began with a sign-in link. The space keeps the
 * name apart from those of tokens, and the names of subjects begin with a URL.
 */
export const commandLineName = 'command line';

export const firstStartName = 'first start';

export function actorText(name: string): string {
  const { actorCharsMax } = limits.access;
  if (name.length <= actorCharsMax) return name;
  return `${name.slice(0, actorCharsMax - 1).toWellFormed()}…`;
}
