import type { NewPlant } from '../contract/plant.ts';
import type { Refusal } from '../contract/problems.ts';
import type { RawRecord } from './record-cutter.ts';

/** A record of a file: a plant, or the reason why the record is not a plant. */
export interface Entry {
  readonly record: RawRecord;
  readonly plant: NewPlant | Refusal;
}

/** Reads a file in chunks. Blank lines are skipped. @throws FileError */
export interface PlantFileReader {
  read(chunk: Buffer): Iterable<Entry>;
  end(): Iterable<Entry>;
}

/** The titles of the columns that hold the members of a plant, where a file has its own titles. */
export type ColumnTitles = Partial<Readonly<Record<'id' | 'name' | 'tag', string>>>;

interface TableOptions {
  readonly titles?: ColumnTitles | undefined;
  /**
   * Whether cells may be quoted. Undefined: yes, but a file with tabs is read only as far as the
   * answer makes no difference.
   */
  readonly quotes?: boolean | undefined;
  /** @param unread the titles of the columns that are not read */
  onHeader?(unread: readonly string[], hasTag: boolean): void;
  /** A quoted cell of the row holds line ends, or a stray quote has joined rows. */
  onJoinedLines?(firstLine: number): void;
}

/** What a store knows of a plant besides its members. */
type PlantDetails = ReturnType<typeof detailsOf>;

export function detailsOf(plant: { readonly createdAtMs: number; readonly createdBy: string }) {
  return { createdAt: new Date(plant.createdAtMs).toISOString(), createdBy: plant.createdBy };
}

export interface Format {
  /** The text before the first plant. */
  head(hasDetails: boolean): string;
  write(plant: NewPlant, details?: PlantDetails): string;
  /** @param recordBytesMax a larger record is refused @param table of CSV only */
  openReader(recordBytesMax: number, table?: TableOptions): PlantFileReader;
}

/** The whole file is unreadable. The message continues a sentence that begins with its name. */
export class FileError extends Error {
  override readonly name = 'FileError';
}
