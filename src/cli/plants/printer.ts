import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { newPlantLine } from '../../contract/plant.ts';
import type { CreatorCount } from '../../store/creators.ts';
import type { StoredPlant } from '../../store/plants.ts';
import { detailsOf, type Format } from '../../transfer/format.ts';
import { type FormatName, formats } from '../../transfer/formats.ts';
import type { Terminal } from '../command.ts';
import type { Column, Table } from '../terminal/table.ts';

/** Prints plants as they come. */
type PlantPrinter = Table<StoredPlant>;

type Form = 'table' | FormatName;

/** @throws UsageError for two forms */
export function formOf(
  { format, json }: Values<'format' | 'json'>,
  { width }: Pick<Terminal, 'width'>,
): Form {
  if (json && format === 'csv')
    throw new UsageError('--json prints NDJSON, and --format csv prints CSV; give one of the two');
  if (format !== undefined) return format;
  return json || width === undefined ? 'ndjson' : 'table';
}

export async function openPrinter(
  form: Form,
  hasDetails: boolean,
  terminal: Terminal,
): Promise<PlantPrinter> {
  if (form !== 'table') return filePrinter(formats[form], hasDetails, terminal);
  const { openTable } = await import('../terminal/table.ts');
  return openTable(hasDetails ? [...plantColumns, ...detailColumns] : plantColumns, terminal);
}

/** Prints what a file of the format has. */
function filePrinter(format: Format, hasDetails: boolean, { write }: Terminal): PlantPrinter {
  // A search that fails prints no head.
  let head = hasDetails ? format.detailedHead : format.head;
  const textOf = (plant: StoredPlant) =>
    hasDetails ? format.writeDetailed(plant, detailsOf(plant)) : format.write(plant);
  const print = (text: string) => {
    const more = head + text;
    head = '';
    return more === '' ? undefined : write(more);
  };
  return { add: (plant) => print(textOf(plant)), end: () => print('') };
}

const plantColumns: readonly Column<StoredPlant>[] = [
  { head: 'ID', kind: 'number', cell: ({ id }) => `${id}` },
  { head: 'NAME', kind: 'text', cell: ({ name }) => name || '""' },
  // An empty tag and no tag differ.
  { head: 'TAG', kind: 'text', cell: ({ tag }) => (tag === '' ? '""' : (tag ?? '')) },
];

const detailColumns: readonly Column<StoredPlant>[] = [
  { head: 'CREATED', kind: 'time', cell: (plant) => detailsOf(plant).createdAt },
  { head: 'BY', kind: 'text', cell: ({ createdBy }) => createdBy },
];

export function plantLine(plant: StoredPlant, hasDetails: boolean): string {
  return newPlantLine(plant, hasDetails ? { ...detailsOf(plant) } : {});
}

/** Prints nothing without a creator. */
export async function printCreators(
  creators: readonly CreatorCount[],
  terminal: Terminal,
): Promise<void> {
  if (creators.length === 0) return;
  const { printTable } = await import('../terminal/table.ts');
  await printTable(creatorColumns, creators, terminal);
}

const creatorColumns: readonly Column<CreatorCount>[] = [
  { head: 'CREATED BY', kind: 'text', cell: ([name]) => name },
  { head: 'PLANTS', kind: 'number', cell: ([, plants]) => `${plants}` },
];
