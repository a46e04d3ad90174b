import { compactTime } from '../../disk/compact-time.ts';
import type { Log } from '../../service/log.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { commandFor, sqliteEngine, type UnreadWal } from '../../stores.ts';
import type { Terminal } from '../command.ts';

/**
 * Reports damage of the WAL, and upgrades a store of an earlier version.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
export async function prepareStore(
  location: SqliteLocation,
  log: Log,
  terminal: Terminal,
): Promise<void> {
  reportWal(location, await sqliteEngine(location).examineWal(), log);
  await upgradeOutdatedStore(location, log, terminal);
}

function reportWal(location: SqliteLocation, unread: UnreadWal | undefined, log: Log): void {
  if (unread === undefined) return;
  const { path } = location;
  const command = commandFor(location, 'verify --against BACKUP');
  const { transactions, keptPath } = unread;
  const fields = { store: path, transactions, keptPath };
  if (transactions === 1)
    return log.warn(
      fields,
      `the last transaction in the WAL cannot be read: a power cut has ended it before its plants were acknowledged, which is harmless, or the disk has damaged it; if there was no power cut, compare the store with a backup: ${command}`,
    );
  log.error(
    fields,
    `the WAL is damaged, and its last transactions cannot be read: plants that were answered with 200 may be missing; let clients send their last creates again, and compare the store with a backup: ${command}`,
  );
}

/**
 * Upgrades a store of an earlier schema version. A backup beside the store comes first, for a return
 * to the earlier program.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
async function upgradeOutdatedStore(
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
