import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { firstTokenName } from '../location.ts';
import { applicationId } from './schema.ts';

/**
 * What is left of an earlier store where there is none. A folder with another store has the first
 * token of the other.
 *
 * @returns a clause for each file
 */
export function tracesOfSqlite(path: string): string[] {
  const folder = dirname(resolve(path));
  const store = basename(path);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const traces = names.flatMap((name) => {
    if (name === `${store}-wal`) return [`${join(folder, name)} is its WAL`];
    const isSaved = name.startsWith(`${store}.saved-`) && !name.endsWith('-wal');
    return isSaved ? [`${join(folder, name)} is what a service has saved of it`] : [];
  });
  const isOther = (name: string) => !name.startsWith(store) && isStore(join(folder, name));
  if (names.includes(firstTokenName) && !names.some(isOther))
    traces.push(`${join(folder, firstTokenName)} is its first token`);
  return traces;
}

/** Whether a file is a store, which is in WAL mode as no backup is (sqlite.org/fileformat.html). */
function isStore(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const head = Buffer.alloc(100);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, head);
  } finally {
    closeSync(descriptor);
  }
  const [walMode, modeAt, idAt] = [2, 18, 68];
  return head[modeAt] === walMode && head.readInt32BE(idAt) === applicationId;
}
