import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { CommandError } from '../cli/command.ts';
import { isSameFile, startOf, withoutLinks } from '../disk/files.ts';
import { engineOf } from '../store/engines.ts';
import { companionEndings, firstTokenName, type StoreLocation } from '../store/location.ts';

/**
 * Refuses to write to a file of a store or a backup, also through a link.
 *
 * @param store of the command. Files of other stores are recognised by content and name.
 * @throws CommandError
 */
export function refuseStoreFile(path: string, store: StoreLocation): void {
  const why = reasonToKeep(path, store);
  if (why !== undefined)
    throw new CommandError(`${path} ${why}, and no command writes over it; choose another name`);
}

/** @returns the rest of a sentence that begins with the file; undefined if it may be written */
function reasonToKeep(path: string, store: StoreLocation): string | undefined {
  const { files, url } = engineOf(store);
  if (files().some((file) => isSameFile(path, file))) return `belongs to the store ${url}`;
  if (isOfSqlite(path)) return 'is a store, a backup, or a file that SQLite keeps beside one';
  const target = withoutLinks(path);
  if (basename(target) === firstTokenName) return 'is where a store keeps its first token';
  const ending = companionEndings.find(
    (one) => target.endsWith(one) && isOfSqlite(target.slice(0, -one.length)),
  );
  return ending && `belongs to ${target.slice(0, -ending.length)}`;
}

/**
 * First bytes of a database, a WAL, a journal and a WAL index, in hex (sqlite.org/fileformat.html,
 * sqlite.org/walformat.html).
 */
const beginnings = [
  '53514c69746520666f726d6174203300',
  '377f0682',
  '377f0683',
  'd9d505f920a163d7',
  '18e22d00',
  '002de218',
];

/** Not for a store that this process has open: a close would end SQLite's locks (fcntl(2)). */
function isOfSqlite(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const start = startOf(path, 16).toString('hex');
  return beginnings.some((beginning) => start.startsWith(beginning));
}
