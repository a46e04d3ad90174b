import { resolve } from 'node:path';
import { prepareFirstToken } from '../access/first-token.ts';
import type { StoreLocation } from '../config/values.ts';
import type { Log } from '../log.ts';
import { firstTokenFile } from '../service.ts';
import { prepareFolder, surveyStore, upgradeStore } from '../stores.ts';
import { compactTime, makeBackup, recordBackup } from './backup.ts';
import type { Terminal } from './command.ts';

export interface Preparation {
  readonly location: StoreLocation;
  readonly hasFixedToken: boolean;
  readonly openLog: () => Promise<Log>;
}

/**
 * What a service does before it restarts itself under the permission model: there, Node can sync no folder, so that a power cut could
 * take the name of a new file away, and may write nothing but the store.
 *
 * @throws StoreOpenError, StoreError, CommandError
 */
export async function prepareStart({ location, hasFixedToken, openLog }: Preparation, terminal: Terminal): Promise<void> {
  prepareFolder(location);
  const store = surveyStore(location);
  if (store?.outdatedSchema !== undefined) await upgrade(location, store.outdatedSchema, await openLog(), terminal);
  if (!hasFixedToken && !store?.hasHadToken) prepareFirstToken(firstTokenFile(location.path));
}

/** A backup comes first, so that the earlier version can be gone back to. */
async function upgrade(location: StoreLocation, schema: number, log: Log, terminal: Terminal): Promise<void> {
  const now = new Date();
  // A start that was killed a moment ago may have left one.
  const path = `${resolve(location.path)}.schema-${schema}-${compactTime(now)}-${process.pid}`;
  log.info({ store: location.path, schema, backup: path }, 'the store is of an earlier version; making a backup');
  const manifest = await makeBackup(location, path, now, terminal);
  upgradeStore(location);
  await recordBackup(location, path, manifest, terminal);
  log.info({ plants: manifest.plants }, 'the store has been upgraded');
}
