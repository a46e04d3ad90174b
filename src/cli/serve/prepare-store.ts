import { setTimeout as delay } from 'node:timers/promises';
import { compactTime } from '../../disk/compact-time.ts';
import { limits } from '../../limits.ts';
import type { Log } from '../../service/log.ts';
import { StoreOpenError } from '../../store/errors.ts';
import type { PostgresLocation, SqliteLocation } from '../../store/location.ts';
import { commandFor, postgresEngine, sqliteEngine, type UnreadWal } from '../../stores.ts';
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

/** Upgrades a store of an earlier schema version. @throws StoreOpenError, StoreError */
export async function prepareDatabase(location: PostgresLocation, log: Log): Promise<void> {
  const engine = postgresEngine(location);
  const schema = await engine.outdatedSchema();
  if (schema === undefined) return;
  const fields = { store: engine.name, ...schema };
  log.info(fields, 'the store is of an earlier version; upgrading its tables');
  const { upgradeMs, upgradePauseMs } = limits.postgres;
  const endMs = performance.now() + upgradeMs;
  for (;;) {
    const users = await engine.upgrade();
    if (users === undefined) return log.info(fields, 'the store has been upgraded');
    const inUse = `the tables of the store are in use by ${users}`;
    if (performance.now() + upgradePauseMs > endMs)
      throw new StoreOpenError(
        `the store has not been upgraded within ${upgradeMs / 1_000} s, and is as it was: ${inUse}; start the service again when that has ended`,
      );
    log.warn(fields, `${inUse}; the upgrade is tried again`);
    await delay(upgradePauseMs);
  }
}
