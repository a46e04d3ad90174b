import { closestMatch } from 'leven';

/**
 * What somebody may have meant who typed this: the one word that begins so, or the nearest that
 * differs in a third of it at most.
 */
export function meant(typed: string, known: readonly string[]): string | undefined {
  const begun = known.filter((word) => word.startsWith(typed));
  return begun.length === 1
    ? begun[0]
    : closestMatch(typed, known, { maxDistance: Math.ceil(typed.length / 3) });
}
