import { limits } from '../limits.ts';

/**
 * A text of the client for a message, in quotes and on one line. Of a long text it is the start, with "…" behind: at most
 * `limits.excerptCharsMax` characters, its escapes included.
 */
export function excerpt(text: string): string {
  let shown = '';
  for (const character of text) {
    const escaped = JSON.stringify(character).slice(1, -1);
    if (shown.length + escaped.length > limits.excerptCharsMax) return `"${shown}…"`;
    shown += escaped;
  }
  return `"${shown}"`;
}
