/** Columns of help and of reports. Longer lines are hard to read. */
const columnsMax = 80;

/** Breaks text between words, so a longer word has a longer line of its own. */
export function wrapped(text: string, columns = columnsMax): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

/**
 * A name with its text beside it, behind `indent` columns. A longer name has a line of its own.
 *
 * @param isWhole all in one line
 */
export function hanging(name: string, text: string, indent: number, isWhole = false): string[] {
  const columns = isWhole ? Number.POSITIVE_INFINITY : columnsMax - indent;
  const lines = wrapped(text, columns).map((line) => ' '.repeat(indent) + line);
  if (name.length >= indent) return [name, ...lines];
  const [first = '', ...rest] = lines;
  return [name + first.slice(name.length), ...rest];
}
