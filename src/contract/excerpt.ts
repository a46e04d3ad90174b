import { limits } from '../limits.ts';

/**
 * A text of the client for a message, in quotes and on one line. Of a long text it is the start,
 * with "…" behind: at most `limits.contract.excerptCharsMax` characters, its escapes included.
 */
export function excerpt(text: string): string {
  let shown = '';
  for (const character of text) {
    const visible = escaped(character);
    if (shown.length + visible.length > limits.contract.excerptCharsMax) return `"${shown}…"`;
    shown += visible;
  }
  return `"${shown}"`;
}

/**
 * Controls, marks of direction, the byte order mark: invisible in a log, or orders to a terminal.
 */
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

/** JSON escapes only some of them. */
function escaped(character: string): string {
  const inJson = JSON.stringify(character).slice(1, -1);
  return inJson === character && invisible.test(character) ? unitsOf(character) : inJson;
}

function unitsOf(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
