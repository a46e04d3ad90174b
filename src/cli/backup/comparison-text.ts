import { limits } from '../../limits.ts';
import type { IdRange, IdSample, PlantComparison } from '../../store/comparison.ts';
import type { Terminal } from '../command.ts';

/** Prints a name and a value. A line without a name belongs to the line above. */
export type PrintLine = (name: string, value: unknown) => void;

export function linePrinter({ print }: Pick<Terminal, 'print'>): PrintLine {
  return (name, value) => void print(`${name.padEnd('unreadable'.length)}  ${value}`);
}

export function printComparison(
  { plants, changed, missing, unreadable, unreadableRanges }: PlantComparison,
  line: PrintLine,
): void {
  line('plants', plants);
  printSample('changed', changed, line);
  printSample('missing', missing, line);
  line('unreadable', unreadable.count);
  if (unreadable.count > 0) line('', rangesText(unreadableRanges));
}

export function printSample(name: string, sample: IdSample, line: PrintLine): void {
  line(name, sample.count);
  if (sample.count > 0) line('', idsText(sample, limits.scrub.idsShown));
}

export function idsText({ count, ids }: IdSample, idsMax: number): string {
  return `${ids.slice(0, idsMax).join(', ')}${count > idsMax ? ', …' : ''}`;
}

export function rangesText(ranges: readonly IdRange[]): string {
  const { idsShown } = limits.scrub;
  const shown = ranges
    .slice(0, idsShown)
    .map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
  return `${shown.join(', ')}${ranges.length > idsShown ? ', …' : ''}`;
}

/** One line. Ids are texts, because a JSON number would be rounded. */
export function jsonText(value: object): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}` : member));
}
