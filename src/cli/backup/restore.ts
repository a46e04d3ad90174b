import { existsSync, statSync } from 'node:fs';
import { fileLocation } from '../../store/location.ts';
import { commandFor } from '../../stores.ts';
import { CommandError, command } from '../command.ts';
import { commandsOf } from '../engines.ts';
import { resolveBackup } from './parts.ts';

export const restore = command({
  positionals: ['SRC'],
  summary:
    'Check a backup, of a folder the newest one, and make it the store. No process may have an SQLite store open; a database must hold no other plants.',
  need: 'Use it after the loss of a store, and to rehearse a loss.',
  flags: ['store', 'overwrite', 'accept-lost-commits', 'json'],
  examples: [
    'plant-store restore /var/backups/plants.db',
    'plant-store restore /var/backups/plants.db --overwrite',
  ],
  async run({ values, positionals: [named = ''] }, terminal) {
    const source = resolveBackup(named, values.store, terminal);
    refuseAsSource(source);
    await commandsOf(values.store).restore(source, values, terminal);
    return 0;
  },
});

/** @throws CommandError for no file, and for a store in use */
export function refuseAsSource(source: string): void {
  if (!statSync(source, { throwIfNoEntry: false })?.isFile())
    throw new CommandError(`there is no file ${source} to restore`);
  // A backup is not in WAL mode, and has no WAL.
  if (!existsSync(`${source}-wal`)) return;
  throw new CommandError(
    `${source} is a store in use and not a backup, because ${source}-wal exists; make a backup with ${commandFor(fileLocation(source), 'backup DEST')}`,
  );
}
