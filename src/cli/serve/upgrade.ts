import { resolve } from 'node:path';
import type { Log } from '../../service/log.ts';
import type { StoreLocation } from '../../store/location.ts';
import { outdatedSchemaOf, upgradeStore } from '../../stores.ts';
import { compactTime, makeBackup, recordBackup } from '../backup/backup.ts';
import type { Terminal } from '../command.ts';

/**
 * Upgrades a store whose schema is of an earlier version, after a backup beside it, so that the
 * earlier version can be gone back to. A store of this version, a store that does not exist yet
 * and a store in a database are left as they are.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
export async function upgradeOutdatedStore(
  location: StoreLocation,
  log: Log,
  terminal: Terminal,
): Promise<void> {
  if (location.engine !== 'sqlite') return;
  const schema = outdatedSchemaOf(location);
  if (schema === undefined) return;
  const now = new Date();
  // A start that was killed a moment ago may have left a backup of the same second.
  const path = `${resolve(location.path)}.schema-${schema}-${compactTime(now)}-${process.pid}`;
  log.info(
    { store: location.path, schema, backup: path },
    'the store is of an earlier version; making a backup',
  );
  const manifest = await makeBackup(location, path, now, terminal);
  upgradeStore(location);
  await recordBackup(location, path, manifest, terminal);
  log.info({ plants: manifest.plants }, 'the store has been upgraded');
}
