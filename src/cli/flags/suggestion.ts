import { closestMatch } from 'leven';

/**
 * Suggests the word that was meant: the only one that starts like `typed`, or the nearest one that
 * differs in at most a third of its characters.
 *
 * @param otherwise what to say if no word is near
 */
export function suggestion(
  typed: string,
  known: readonly string[],
  otherwise: string,
  show = (word: string) => word,
): string {
  const starts = known.filter((word) => word.startsWith(typed));
  const near =
    starts.length === 1
      ? starts[0]
      : closestMatch(typed, known, { maxDistance: Math.ceil(typed.length / 3) });
  return near === undefined ? otherwise : `did you mean ${show(near)}?`;
}
