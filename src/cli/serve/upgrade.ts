import type { Log } from '../../service/log.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { compactTime } from '../backup/backup-name.ts';
import type { Terminal } from '../command.ts';

/**
 * Upgrades a store of an earlier schema version. A backup beside the store comes first, for a return
 * to the earlier program.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
export async function upgradeOutdatedStore(
  location: SqliteLocation,
  log: Log,
  terminal: Terminal,
): Promise<void> {
  const engine = sqliteEngine(location);
  const schema = await engine.outdatedSchema();
  if (schema === undefined) return;
  // Almost no start needs the backup.
  const { makeBackup, recordBackup } = await import('../backup/make-backup.ts');
  const now = new Date();
  // A start that was killed a moment ago may have left a backup of the same second.
  const path = `${engine.name}.schema-${schema}-${compactTime(now)}-${process.pid}`;
  log.info(
    { store: location.path, schema, backup: path },
    'the store is of an earlier version; making a backup',
  );
  const manifest = await makeBackup(location, path, now, terminal);
  await engine.upgrade();
  await recordBackup(location, path, manifest, terminal);
  log.info({ plants: manifest.plants }, 'the store has been upgraded');
}
