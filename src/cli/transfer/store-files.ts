import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { forReading, isSameFile, withoutLinks } from '../../disk/files.ts';
import { firstTokenName, type StoreLocation, sqliteCompanions } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { manifestEnding } from '../backup/manifest.ts';
import { CommandError } from '../command.ts';

/**
 * Keeps a command from writing to a file that belongs to a store or a backup, whatever the file is
 * called: by its path, a symbolic link or a hard link. A rename would replace only that one hard
 * link; the target is refused all the same, since a store as the target is a mistake.
 *
 * @param stores those that the command works on. Files of other stores are recognized by their
 * content and their names.
 * @throws CommandError
 */
export function refuseStoreFile(
  path: string,
  stores: readonly StoreLocation[],
  wayOut = 'choose another name',
): void {
  const why = reasonToKeep(path, stores);
  if (why !== undefined)
    throw new CommandError(`${path} ${why}, and no command writes over it; ${wayOut}`);
}

/** @returns what the file is, as the rest of a sentence, if it is one to keep */
function reasonToKeep(path: string, stores: readonly StoreLocation[]): string | undefined {
  const owner = stores.find((store) =>
    engineOf(store)
      .files()
      .some((file) => isSameFile(path, file)),
  );
  if (owner !== undefined) return `belongs to the store ${engineOf(owner).text}`;
  if (isOfSqlite(path)) return 'is a store, a backup, or a file that SQLite keeps beside one';
  const target = withoutLinks(path);
  if (basename(target) === firstTokenName) return 'is where a store keeps its first token';
  const ending = [...sqliteCompanions, manifestEnding].find(
    (one) => target.endsWith(one) && isOfSqlite(target.slice(0, -one.length)),
  );
  return ending && `belongs to ${target.slice(0, -ending.length)}`;
}

/**
 * What files of SQLite begin with, in hex (sqlite.org/fileformat.html, sqlite.org/walformat.html):
 * a database, its log, its journal, its index.
 */
const beginnings = [
  '53514c69746520666f726d6174203300',
  '377f0682',
  '377f0683',
  'd9d505f920a163d7',
  '18e22d00',
  '002de218',
];

/**
 * Whether there is a regular file with the content of one of SQLite's. Never asked about a store
 * that this process has open: to close the file would end the locks that SQLite has on it
 * (fcntl(2)).
 */
function isOfSqlite(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const start = Buffer.alloc(16);
  // By now it may be a pipe, which must not keep the command waiting.
  const descriptor = openSync(path, forReading);
  try {
    readSync(descriptor, start);
  } finally {
    closeSync(descriptor);
  }
  return beginnings.some((beginning) => start.toString('hex').startsWith(beginning));
}
