import type { NewestSearch, PlantReader, PlantSearch, StoredPlant } from '../store/plants.ts';
import { detailsOf } from '../transfer/format.ts';
import { type FormatName, formats } from '../transfer/formats.ts';

/** A search in one of the two orders. */
export type OrderedSearch =
  | { readonly order: 'id'; readonly search: PlantSearch }
  | { readonly order: 'newest'; readonly search: NewestSearch };

/** Part of a file of plants. */
export interface FilePart {
  readonly bytes: Uint8Array;
  /** Finds the plants of the next parts; undefined at the end. */
  readonly rest: OrderedSearch | undefined;
}

export interface FileForm {
  readonly format: FormatName;
  /** Whether the file tells when each plant came, and by which token. */
  readonly details: boolean;
}

/** The text before the first plant. */
export function headOf({ format, details }: FileForm): string {
  return formats[format].head(details);
}

function writerOf({ format, details }: FileForm): (plant: StoredPlant) => string {
  return (plant) => formats[format].write(plant, details ? detailsOf(plant) : undefined);
}

/** Writes the plants that one step of a search finds, which may be none. */
export async function writePlants(
  store: Pick<PlantReader, 'searchPlants' | 'newestPlants'>,
  form: FileForm,
  { order, search }: OrderedSearch,
): Promise<FilePart> {
  const write = writerOf(form);
  const bytesOf = (plants: readonly StoredPlant[]) =>
    new TextEncoder().encode(plants.map(write).join(''));
  if (order === 'id') {
    const { plants, next: after } = await store.searchPlants(search);
    const rest = after === undefined ? undefined : { order, search: { ...search, after } };
    return { bytes: bytesOf(plants), rest };
  }
  const found = await store.newestPlants(search);
  if (found === undefined) throw new Error('a search went on at no position of its store');
  const { plants, next: before } = found;
  const rest = before === undefined ? undefined : { order, search: { ...search, before } };
  return { bytes: bytesOf(plants), rest };
}
