import { limits } from '../../limits.ts';
import { nothingCompared, type PlantComparison } from '../../store/comparison.ts';
import type { StoreFault } from '../../store/inspection.ts';
import { fileLocation, type PostgresLocation, type SqliteLocation } from '../../store/location.ts';
import { openReader, sqliteEngine } from '../../stores.ts';
import { comparePlantsInStep } from '../../transfer/compare-plants.ts';
import type { Terminal } from '../command.ts';
import { checkPages, type PageCheck } from './page-check.ts';

/** What a scrub of a store has found. */
export interface Scrub {
  readonly comparison: PlantComparison | StoreFault;
  /** Undefined for a database, which checks its own pages. */
  readonly pages: PageCheck | undefined;
}

/** @param parts the files of the backup, which have been checked */
export async function scrubFile(
  location: SqliteLocation,
  parts: readonly string[],
  { showProgress }: Terminal,
): Promise<Scrub> {
  const comparison = await sqliteEngine(location).compare(parts, showProgress);
  showProgress('checking every page');
  return { comparison, pages: await checkPages(location.path) };
}

export async function scrubDatabase(
  location: PostgresLocation,
  parts: readonly string[],
  { showProgress }: Terminal,
): Promise<Scrub> {
  await using store = await openReader(location, limits.cli.readMs);
  const comparison = nothingCompared();
  for (const part of parts) {
    await using backup = await openReader(fileLocation(part), limits.cli.readMs);
    await comparePlantsInStep(backup, store, comparison, (plants) =>
      showProgress(`comparing: ${plants} plants`),
    );
  }
  return { comparison, pages: undefined };
}
