import { StoreError } from '../errors.ts';
import { figuresOf, type Inspection, type OnProgress } from '../inspection.ts';
import type { PostgresLocation } from '../location.ts';
import { openConnector } from './connector.ts';
import { DATA_CORRUPTED, INDEX_CORRUPTED, sqlState } from './errors.ts';
import { runOnce } from './pool.ts';
import { demandStore, openPostgresSnapshot } from './reader.ts';

/** Reads all plants at one moment; the server checks pages. @throws StoreOpenError, StoreError */
export async function inspectPostgres(
  location: PostgresLocation,
  readMs: number,
  onProgress: OnProgress,
): Promise<Inspection> {
  try {
    const schemaVersion = await runOnce(location, readMs, (query) => demandStore(query, location));
    await using snapshot = await openPostgresSnapshot(openConnector(location, readMs));
    return {
      schemaVersion,
      ...(await figuresOf(snapshot.pages(), (plants) =>
        onProgress(`reading the plants: ${plants}`),
      )),
    };
  } catch (error) {
    if (isDamage(error)) return { fault: `is damaged (${(error as Error).message})` };
    throw error;
  }
}

function isDamage(error: unknown): boolean {
  const state = error instanceof StoreError ? sqlState(error.cause) : undefined;
  return state === DATA_CORRUPTED || state === INDEX_CORRUPTED;
}
