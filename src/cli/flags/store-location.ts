import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { withoutLinks } from '../../disk/files.ts';
import {
  companionEndings,
  defaultStorePath,
  fileLocation,
  firstTokenName,
  type StoreLocation,
} from '../../store/location.ts';
import type { Environment } from './environment.ts';
import { postgresLocation } from './postgres-location.ts';
import { UsageError } from './values.ts';

export function storeLocation(text: string, env: Environment): StoreLocation {
  return /^postgres(ql)?:/.test(text) ? postgresLocation(text, env) : sqliteLocation(text);
}

/** A path without a scheme names a file, such as a backup. @throws UsageError */
export function storeOrFile(text: string, env: Environment): StoreLocation {
  // One letter and a colon are a drive of Windows.
  return storeLocation(/^[a-z]{2,}:/i.test(text) ? text : `sqlite:${text}`, env);
}

function sqliteLocation(text: string): StoreLocation {
  const path = /^sqlite:(?!\/\/)(.+)$/s.exec(text)?.[1];
  // For SQLite, `:memory:` and `file:…` name databases in no file.
  if (path === undefined || path.startsWith(':') || path.startsWith('file:')) throw wrongForm(text);
  if (isBesideStore(path)) {
    throw new UsageError(
      'must not name a file that belongs to a store: its WAL, its journal, its first ' +
        'token, or the manifest of a backup',
    );
  }
  return fileLocation(path);
}

/** The text may be a path. One with the signs of a URL may have a password. */
function wrongForm(text: string): UsageError {
  const path = /^[^:@=]+$/.test(text) ? text : defaultStorePath;
  return new UsageError(`must be sqlite:PATH, or postgres://…, such as sqlite:${path}`);
}

/** Whether the path, or the target of a link there, belongs to an existing store or backup. */
function isBesideStore(path: string): boolean {
  try {
    return [path, withoutLinks(path)].some((name) => {
      const ending = companionEndings.find((one) => name.endsWith(one));
      const store = ending && name.slice(0, -ending.length);
      const isCompanion = store && statSync(store, { throwIfNoEntry: false })?.isFile();
      return isCompanion || basename(name) === firstTokenName;
    });
  } catch {
    // This process may not look there. Opening the store says so.
    return false;
  }
}
