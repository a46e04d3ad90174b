import { resolve } from 'node:path';
import type { Log } from '../log.ts';
import { firstTokenFile, type SqliteLocation, type StoreLocation } from '../store/location.ts';
import { openStore, prepareFolder, surveyStore, upgradeStore } from '../stores.ts';
import type { Terminal } from './command.ts';

export interface Preparation {
  readonly location: StoreLocation;
  /** How long the store may take to answer, where it is on another machine. */
  readonly callMs: number;
  readonly acceptsLostCommits: boolean;
  readonly hasFixedToken: boolean;
  readonly openLog: () => Promise<Log>;
}

/**
 * What a service does before it restarts itself under the permission model: there, Node can sync no folder, so that a power cut could
 * take the name of a new file away, and may write nothing but the store. In a database that other nodes share, the first token is made now:
 * who was not the first has a file to remove, which it still knows to be its own.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
export async function prepareStart(preparation: Preparation, terminal: Terminal): Promise<void> {
  const { location, callMs, acceptsLostCommits, hasFixedToken, openLog } = preparation;
  if (location.engine === 'sqlite') prepareFolder(location);
  const store = await surveyStore(location, callMs);
  if (location.engine === 'sqlite' && store?.outdatedSchema !== undefined) {
    await upgrade(location, store.outdatedSchema, await openLog(), terminal);
  }
  if (hasFixedToken || store?.hasHadToken) return;
  const { ensureFirstToken, prepareFirstToken } = await import('../access/first-token.ts');
  if (location.engine === 'sqlite') return void prepareFirstToken(firstTokenFile(location));
  await using shared = await openStore(location, callMs, acceptsLostCommits);
  if (await ensureFirstToken(shared, firstTokenFile(location), Date.now())) return;
  (await openLog()).info({}, 'another node has made the first token, and it is in a file there');
}

/** A backup comes first, so that the earlier version can be gone back to. Few starts need what makes one. */
async function upgrade(location: SqliteLocation, schema: number, log: Log, terminal: Terminal): Promise<void> {
  const { compactTime, makeBackup, recordBackup } = await import('./backup.ts');
  const now = new Date();
  // A start that was killed a moment ago may have left one.
  const path = `${resolve(location.path)}.schema-${schema}-${compactTime(now)}-${process.pid}`;
  log.info({ store: location.path, schema, backup: path }, 'the store is of an earlier version; making a backup');
  const manifest = await makeBackup(location, path, now, terminal);
  upgradeStore(location);
  await recordBackup(location, path, manifest, terminal);
  log.info({ plants: manifest.plants }, 'the store has been upgraded');
}
