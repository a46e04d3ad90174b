import { limits } from '../limits.ts';

/** Of commands and sign-in links. The space keeps the name apart from those of tokens. */
export const commandLineName = 'command line';

export const firstStartName = 'first start';

export function actorText(name: string): string {
  const { actorCharsMax } = limits.access;
  if (name.length <= actorCharsMax) return name;
  return `${name.slice(0, actorCharsMax - 1).toWellFormed()}…`;
}
