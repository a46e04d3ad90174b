import type { NewPlant } from '../contract/plant.ts';
import type { Refusal } from '../contract/problems.ts';
import type { RawRecord } from './record-cutter.ts';

/** A record of a file, and what it says: a plant, or why that is none. */
export interface Entry {
  readonly record: RawRecord;
  readonly plant: NewPlant | Refusal;
}

/**
 * Reads a file chunk by chunk. Blank lines are passed over. @throws FileError for what makes the
 * whole file unreadable
 */
export interface PlantReader {
  read(chunk: Buffer): Iterable<Entry>;
  /** What is left when the file has ended. */
  end(): Iterable<Entry>;
}

/** How plants stand in a file. */
export interface Format {
  /** What comes before the first plant. */
  readonly head: string;
  /** A plant with its line end. */
  write(plant: NewPlant): string;
  /** @param recordBytesMax of one plant; a larger one is refused */
  openReader(recordBytesMax: number): PlantReader;
}

/**
 * A file cannot be read at all. The message is the rest of a sentence that starts with its name,
 * and says the way out.
 */
export class FileError extends Error {
  override readonly name = 'FileError';
}
