import { setTimeout as delay } from 'node:timers/promises';
import { command, type Terminal } from '../cli/command.ts';
import { compactTime } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { version } from '../program.ts';
import { resolveEngine } from '../store/engine.ts';
import { engineOf, postgresEngine, sqliteEngine } from '../store/engines.ts';
import { StoreOpenError } from '../store/errors.ts';
import type { PostgresLocation, SqliteLocation, StoreLocation } from '../store/location.ts';
import { type Log, openLog } from '../telemetry/log.ts';

export const upgrade = command({
  positionals: [],
  summary: 'Upgrade a store of an earlier version.',
  need: 'The start of the service does the same. Use it if only another role owns the tables of a database.',
  flags: ['store'],
  examples: [
    'plant-store upgrade',
    'plant-store upgrade --store postgres://owner@db.example.org/plants',
  ],
  async run({ values: { store } }, terminal) {
    const readable = terminal.errorsWidth !== undefined;
    const { errorsHaveColors: colors } = terminal;
    const { log, writeLast } = await openLog({ level: 'info', readable, colors });
    terminal.onExit(writeLast);
    await prepareStore(store, log, terminal);
    // Throws if there is no store.
    await using _reader = await engineOf(store).openReader(limits.cli.readMs);
    log.info({ store: engineOf(store).name }, `the store is of version ${version}`);
    return 0;
  },
});

/** Repairs a store after a failed sync, and upgrades one of an earlier version. */
export function prepareStore(location: StoreLocation, log: Log, terminal: Terminal): Promise<void> {
  return resolveEngine<Promise<void>>(
    {
      sqlite: (file) => prepareFile(file, log, terminal),
      postgres: (database) => prepareDatabase(database, log),
    },
    location,
  );
}

/** Makes a backup before the upgrade, so that the earlier program can return. */
async function prepareFile(location: SqliteLocation, log: Log, terminal: Terminal): Promise<void> {
  const engine = sqliteEngine(location);
  // A crash leaves a WAL. On a thread of its own: a large store takes minutes, and this thread hears
  // signals.
  const isInDoubt =
    (await engine.walBytes().catch(() => 0)) > 0 || (await engine.doubt()) !== undefined;
  if (isInDoubt && (await engine.repair()))
    log.warn(
      { store: location.path },
      'a sync had failed; the disk again has everything that the files of the store say',
    );
  const schema = await engine.outdatedSchema();
  if (schema === undefined) return;
  // Almost no start needs the backup.
  const { makeBackup, recordBackup } = await import('../backup/make.ts');
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
async function prepareDatabase(location: PostgresLocation, log: Log): Promise<void> {
  const engine = postgresEngine(location);
  const schema = await engine.outdatedSchema();
  if (schema === undefined) return;
  const fields = { store: engine.name, schema };
  log.info(fields, 'the store is of an earlier version; upgrading its tables');
  const { upgradeMs, upgradePauseMs } = limits.postgres;
  const endMs = performance.now() + upgradeMs;
  for (;;) {
    const users = await engine.upgrade((session) =>
      log.warn(fields, `the upgrade waits for the end of ${session}`),
    );
    if (users === undefined) return log.info(fields, 'the store has been upgraded');
    const inUse = `the tables of the store are in use by ${users}`;
    if (performance.now() + upgradePauseMs > endMs)
      throw new StoreOpenError(
        `the store has not been upgraded within ${upgradeMs / 1_000} s, and is as it was: ` +
          `${inUse}; start the service again when that has ended`,
      );
    log.warn(fields, `${inUse}; the upgrade is tried again`);
    await delay(upgradePauseMs);
  }
}
