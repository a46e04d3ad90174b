import { readlinkSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { firstTokenName, type SqliteLocation, type StoreLocation } from '../store/location.ts';
import type { Environment } from './environment.ts';
import { postgresLocation } from './postgres/location.ts';
import { UsageError } from './values.ts';

/** @throws UsageError */
export function storeLocation(text: string, env: Environment): StoreLocation {
  return /^postgres(ql)?:/.test(text) ? postgresLocation(text, env) : sqliteLocation(text);
}

function sqliteLocation(text: string): SqliteLocation {
  const path = /^sqlite:(?!\/\/)(.+)$/s.exec(text)?.[1];
  // For SQLite these are names of databases that are in no file.
  if (path === undefined || path.startsWith(':') || path.startsWith('file:')) {
    throw new UsageError('must be sqlite:PATH, or postgres://…, for example sqlite:data/plants.db');
  }
  if (isBesideStore(path) || isBesideStore(linkTarget(path))) {
    throw new UsageError(
      'must not name a file that belongs to a store: its log, its journal, its first token, or the manifest of a backup',
    );
  }
  return { engine: 'sqlite', path };
}

/** Whether the name is that of a file which belongs to the store, or the backup, that is there. */
function isBesideStore(path: string): boolean {
  const [, store] = /^(.+)(?:-wal|-shm|-journal|\.manifest\.json)$/s.exec(path) ?? [];
  return basename(path) === firstTokenName || (store !== undefined && isFile(store));
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Nothing is there, or nothing that this process may look at.
    return false;
  }
}

/** Where the path leads if it is a symbolic link: a store would be made there, too. */
function linkTarget(path: string): string {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    // The path is no link. Opening the store tells what else is wrong with the path.
    return '';
  }
}
