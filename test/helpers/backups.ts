import { readdirSync } from 'node:fs';
import { type Owner, storePath } from './program.ts';
import { addToken, makeStore } from './store-file.ts';

/** A store with the given number of plants and the token `my-app`. */
export async function newStore(owner: Owner, plants = 3): Promise<string> {
  const path = await storePath(owner);
  makeStore(path, plants);
  addToken(path, 'my-app');
  return path;
}

/** The files in a folder, without the lock of its backups, and notes about failed syncs. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.includes('.lock') && !name.endsWith('.db-sync'))
    .sort();
}
