import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileLocation, type StoreLocation } from '../store/location.ts';

/** A store for one proof. Disposal removes the store. */
export interface ScratchStore extends AsyncDisposable {
  readonly location: StoreLocation;
}

/** A store in a new folder inside `folder`. */
export function scratchFile(folder: string, name: string): ScratchStore {
  const path = join(folder, name, 'plants.db');
  return {
    location: fileLocation(path),
    [Symbol.asyncDispose]: async () => rmSync(dirname(path), { recursive: true, force: true }),
  };
}
