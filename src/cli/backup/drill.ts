import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { runJob } from '../job.ts';
import { assembleBackup } from './assemble-backup.ts';
import { claimFolder, unfinishedPath } from './backup-folder.ts';
import { demandManifest } from './manifest.ts';
import { demandParts, resolveBackup } from './parts.ts';
import { refuseAsSource } from './restore.ts';
import { tryRestoredStore } from './restored-service.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

export const drill = command({
  positionals: ['SRC'],
  summary:
    'Restore a backup into a temporary folder, create a plant in a service on it, and print the time to recover. The store only records the end of the drill.',
  need: 'Use it every week: only a restore shows that a backup can be restored.',
  flags: ['store', 'scratch', 'json'],
  examples: ['plant-store drill /var/backups', 'plant-store drill /mnt/backups --scratch /var/tmp'],
  async run({ values: { store, scratch, json }, positionals: [named = ''] }, terminal) {
    const work = () => recoverFrom(resolve(named), scratch, store, terminal);
    const recovery = await runJob('drill', store, terminal, work, ({ recoverMs }) => recoverMs);
    if (json) terminal.print(JSON.stringify(recovery));
    else for (const line of linesOf(recovery)) terminal.print(line);
    terminal.note(
      `The backup ${recovery.file} can be restored, and a service stores plants on it.`,
      'good',
    );
    return 0;
  },
});

interface Recovery {
  readonly file: string;
  readonly plants: number;
  readonly digest: string;
  /** The copy of the backup, with all checks of `restore`. */
  readonly restoreMs: number;
  /** The start of the service. */
  readonly startMs: number;
  /** The first create. */
  readonly createMs: number;
  /** All three. */
  readonly recoverMs: number;
}

function linesOf({ plants, restoreMs, startMs, createMs, recoverMs }: Recovery): string[] {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(3)} s`;
  return [
    `plants   ${plants}, as in the manifest`,
    `restore  ${seconds(restoreMs)}`,
    `start    ${seconds(startMs)}`,
    `create   ${seconds(createMs)}, and a retry got the same reply`,
    `recover  ${seconds(recoverMs)} in all`,
  ];
}

/** @throws CommandError, StoreOpenError, StoreError */
async function recoverFrom(
  named: string,
  elsewhere: string | undefined,
  location: StoreLocation,
  terminal: Terminal,
): Promise<Recovery> {
  const file = resolveBackup(named, location, terminal);
  refuseAsSource(file);
  const scratch = resolve(elsewhere ?? dirname(file));
  const { backupName } = engineOf(location);
  if (!statSync(scratch, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(`there is no folder ${scratch}`);
  const remedy = 'name another folder with --scratch';
  // A backup with this name in the same folder waits, and so removes no file of the drill.
  using _ = await claimFolder(scratch, backupName, remedy, terminal);
  const folder = unfinishedPath(scratch, backupName);
  const interruption = new AbortController();
  // Ends the service before the folder is removed.
  void terminal.untilSignal().then(() => interruption.abort());
  return withUnfinishedFolder(
    {
      ...{ path: folder, folder, work: 'the drill' },
      left: 'the backup is as it was; run the drill again',
    },
    terminal,
    async () => {
      const startedMs = performance.now();
      for (const part of demandParts(file)) demandManifest(part);
      const path = join(folder, 'plants.db');
      const found = await assembleBackup(file, path, terminal);
      const restoreMs = Math.round(performance.now() - startedMs);
      terminal.showProgress('starting a service');
      const { startMs, createMs } = await tryRestoredStore(
        path,
        found,
        terminal,
        interruption.signal,
      );
      const recoverMs = restoreMs + startMs + createMs;
      const { plants, digest } = found;
      return { file, plants, digest, restoreMs, startMs, createMs, recoverMs };
    },
  );
}
