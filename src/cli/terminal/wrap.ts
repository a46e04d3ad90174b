// This module is loaded when text is printed that may have to be wrapped.
import stringWidth from 'fast-string-width';

/** Columns of help. Longer lines are hard to read. */
const columnsMax = 80;

/** A narrower column of text is hard to read. */
const textColumnsMin = 24;

/** @param width of the terminal; undefined for a file or a pipe */
export function helpColumns(width: number | undefined): number {
  return Math.min(width ?? columnsMax, columnsMax);
}

/**
 * What stays on one line if it fits there: a word, a command in quotes, which can then be copied, and
 * a figure with its name.
 */
export function wordsIn(text: string): readonly string[] {
  return text.match(/"plant-store [^"]*"\S*|(?:\S+: (?=\d))?\S+/g) ?? [];
}

/** Breaks text between words only, so a longer word has a longer line of its own. */
export function wrapped(text: string, columns: number): string[] {
  return filled(
    wordsIn(text).flatMap((word) => (stringWidth(word) > columns ? word.split(/\s+/) : [word])),
    columns,
    '',
  );
}

/** As many words in each line as fit. @param end of each line except the last */
function filled(words: readonly string[], columns: number, end: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && stringWidth(longer + end) > columns) {
      lines.push(line + end);
      line = word;
    } else line = longer;
  }
  return line === '' ? lines : [...lines, line];
}

/**
 * A name with its text beside it, both in columns; or with the text below the name, where the
 * columns are too few.
 *
 * @param indent columns before the text
 */
export function hanging(name: string, text: string, indent: number, columns: number): string[] {
  if (columns - indent < textColumnsMin) {
    const below = '      ';
    return [name, ...wrapped(text, columns - below.length).map((line) => below + line)];
  }
  const [first = '', ...rest] = wrapped(text, columns - indent);
  return [`${name.padEnd(indent)}${first}`, ...rest.map((line) => ' '.repeat(indent) + line)];
}

/** A command line, with a backslash where it goes on in the next line. Quoted text stays whole. */
export function wrappedCommand(line: string, columns: number): string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const [first = '', ...rest] = filled(words, columns - 4, ' \\');
  return [`  ${first}`, ...rest.map((more) => `    ${more}`)];
}
