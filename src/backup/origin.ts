import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import type { StoreLocation } from '../store/location.ts';
import type { Origin } from './lineage.ts';

/** How its backups know a store. @throws StoreOpenError, StoreError */
export async function originOf(location: StoreLocation): Promise<Origin> {
  await using store = await engineOf(location).openReader(limits.cli.readMs);
  return { ...placeOf(location), ...(await store.identity()) };
}

/** The same, without what only the store tells. */
export function placeOf(location: StoreLocation): Origin {
  const { backupName, file, url } = engineOf(location);
  // Files of one path on two machines are two stores.
  return { name: backupName, place: file ? `${hostname()}:${file}` : url };
}

/** As `originOf`, also for a damaged store. @returns undefined for a store without plants, or none */
export async function originOfPlants(location: StoreLocation): Promise<Origin | undefined> {
  try {
    await using store = await engineOf(location).openReader(limits.cli.readMs);
    for await (const _ of store.listPlants({ limit: 1 }))
      return { ...placeOf(location), ...(await store.identity()) };
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreOpenError || error instanceof StoreError)) throw error;
    const { file } = engineOf(location);
    const bytes = file && statSync(file, { throwIfNoEntry: false })?.size;
    return bytes ? placeOf(location) : undefined;
  }
}
