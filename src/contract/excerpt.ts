import { limits } from '../limits.ts';

/**
 * A text of the client for an error message, in quotes and on one line. A long text is cut to
 * `limits.contract.excerptCharsMax` characters, including escapes, and "…".
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

/** Invisible in a log, or commands to a terminal: controls, direction marks, byte order mark. */
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

/** As in JSON, and so without invisible characters. */
export function escaped(character: string): string {
  const inJson = JSON.stringify(character).slice(1, -1);
  if (inJson !== character || !invisible.test(character)) return inJson;
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
