import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { startOf } from '../../disk/files.ts';
import type { Remnant } from '../engine.ts';
import { firstTokenName } from '../location.ts';
import { applicationId } from './schema.ts';

/**
 * The files that are left of an earlier store, for a path without a store. In a folder with another
 * store, the first token belongs to the other store.
 */
export function remnantsOfSqlite(path: string): Remnant[] {
  const folder = dirname(resolve(path));
  const store = basename(path);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const newestFirst = names.toSorted().reverse();
  const remnants = newestFirst.flatMap((name): Remnant[] => {
    const file = join(folder, name);
    if (name === `${store}-wal`) return [{ says: `${file} is its WAL` }];
    // The file comes after its WAL, and under this name when it is whole.
    const isSaved = name.startsWith(`${store}.saved-`) && /Z$/.test(name);
    return isSaved ? [{ says: `a service has saved it as ${file}`, saved: file }] : [];
  });
  const isOther = (name: string) => !name.startsWith(store) && isStore(join(folder, name));
  if (names.includes(firstTokenName) && !names.some(isOther))
    remnants.push({ says: `${join(folder, firstTokenName)} is its first token` });
  return remnants;
}

/** Whether a file is a store, which is in WAL mode as no backup is (sqlite.org/fileformat.html). */
function isStore(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const head = startOf(path, 100);
  const [walMode, modeAt, idAt] = [2, 18, 68];
  return head[modeAt] === walMode && head.readInt32BE(idAt) === applicationId;
}
