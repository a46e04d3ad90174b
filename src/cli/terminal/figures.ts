import type { Terminal } from '../command.ts';

/** Prints figures, a line each, or all as one line of JSON behind what they are of. */
export function printFigures(
  of: object,
  figures: object,
  json: boolean,
  { print }: Pick<Terminal, 'print'>,
): void {
  if (json) {
    print(JSON.stringify({ ...of, ...figures }));
    return;
  }
  for (const [name, value] of Object.entries(figures))
    if (value !== undefined) print(`${name.padEnd('schemaVersion'.length)}  ${value ?? 'none'}`);
}
