import { numberText } from '../../quantity-text.ts';
import type { Terminal } from '../command.ts';

/** Prints a line for each figure, or one line of JSON that begins with the members of `of`. */
export function printFigures(
  of: object,
  figures: object,
  json: boolean,
  terminal: Pick<Terminal, 'print' | 'width'>,
): void {
  if (json) {
    terminal.print(JSON.stringify({ ...of, ...figures }));
    return;
  }
  const text = (value: unknown) => figureText(value ?? 'none', terminal);
  for (const [name, value] of Object.entries(figures))
    if (value !== undefined)
      terminal.print(`${name.padEnd('schemaVersion'.length)}  ${text(value)}`);
}

/** Behind a pipe, a number is for a program. */
export function figureText(value: unknown, { width }: Pick<Terminal, 'width'>): string {
  return typeof value === 'number' && width !== undefined ? numberText(value) : `${value}`;
}
