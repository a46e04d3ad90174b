import type { SqliteLocation, StoreLocation } from '../store/location.ts';
import type { Environment } from './environment.ts';
import { postgresLocation } from './postgres-location.ts';
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
  return { engine: 'sqlite', path };
}
