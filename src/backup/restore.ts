import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError, command, type Terminal } from '../cli/command.ts';
import type { Values } from '../cli/flags/flags.ts';
import { UsageError } from '../cli/flags/values.ts';
import { printFigures } from '../cli/terminal/figures.ts';
import { withUnfinishedFolder } from '../cli/unfinished-folder.ts';
import { shortOfSpace } from '../disk/file-system.ts';
import { compactTime, isSameFile, withoutLinks } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { resolveEngine } from '../store/engine.ts';
import { openToChange, postgresEngine, sqliteEngine } from '../store/engines.ts';
import { fileLocation, type PostgresLocation, type SqliteLocation } from '../store/location.ts';
import {
  demandSame,
  makeStoreCopy,
  noteNewStore,
  refuseOtherPlants,
} from '../transfer/store-copy.ts';
import { demandBackup, demandSound } from './check.ts';
import { resolveBackup } from './folder.ts';
import { mergeCommand } from './loss.ts';
import type { BackupFigures } from './manifest.ts';

export const restore = command({
  positionals: ['SRC'],
  summary:
    'Check a backup and make it the store. For a folder, take the newest backup, if it holds all ' +
    'earlier backups of its store. Stop the service first.',
  need: 'Use it after the loss of a store, and to rehearse a loss.',
  flags: ['store', 'overwrite', 'accept-lost-commits', 'json'],
  examples: [
    'plant-store restore /var/backups/plants.db',
    'plant-store restore /var/backups/plants.db --overwrite',
  ],
  async run({ values, positionals: [named = ''] }, terminal) {
    const source = resolve(await resolveBackup(named, values.store, terminal));
    demandBackup(source, 'restore');
    const { name, figures } = await resolveEngine<Promise<Restored>>(
      {
        sqlite: (location) => restoreFile(source, location, values, terminal),
        postgres: (location) => restoreIntoDatabase(source, location, values, terminal),
      },
      values.store,
    );
    printFigures({ file: name }, figures, values.json, terminal);
    terminal.note(`The store at ${name} now holds the backup ${source}.`);
    return 0;
  },
});

type Choices = Values<'overwrite' | 'accept-lost-commits'>;

interface Restored {
  readonly name: string;
  readonly figures: BackupFigures & { readonly replaced?: string };
}

async function soundFigures(
  source: string,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const { figures, manifest } = await demandSound(source, copy, terminal);
  if (manifest === undefined)
    terminal.note(`${source} has no manifest, and was only checked for damage.`);
  return figures;
}

/**
 * Puts a checked copy of the backup in the place of the store. The old store gets another name. A
 * link stays, and its target is the store.
 */
async function restoreFile(
  source: string,
  { path: named }: SqliteLocation,
  { overwrite }: Choices,
  terminal: Terminal,
): Promise<Restored> {
  const path = withoutLinks(named);
  const location = fileLocation(path);
  if (isSameFile(source, path)) throw new CommandError(`${source} is the store itself`);
  using store = await sqliteEngine(location).claim(overwrite);
  const left = `the store at ${path} is as it was; restore again`;
  const { figures, replaced, wasThere } = await withUnfinishedFolder(
    { path, work: 'the restore', left },
    terminal,
    async (folder) => {
      const copy = join(folder, 'plants.db');
      await copyDurably(source, copy, terminal);
      const figures = await soundFigures(source, copy, terminal);
      // The operator means this state, also if later backups have more plants.
      const restored = sqliteEngine(fileLocation(copy));
      const triggers = await restored.noteRestore(Date.now(), figures.digest);
      if (triggers) terminal.note(`The backup has ${triggers.says}. The restored store has none.`);
      const replaced = await freeName(path);
      return { figures, replaced, wasThere: store.replaceBy(copy, replaced) };
    },
  );
  if (!wasThere) {
    noteNewStore(location, terminal);
    return { name: path, figures };
  }
  terminal.note(
    `The replaced store is kept at ${replaced}. If it has newer plants, bring them with ` +
      `${mergeCommand(replaced, location)}.`,
  );
  return { name: path, figures: { ...figures, replaced } };
}

/** A killed restore may have taken the name of this second. */
async function freeName(path: string): Promise<string> {
  for (;;) {
    const now = new Date();
    const name = `${path}.replaced-${compactTime(now)}`;
    if (!existsSync(name)) return name;
    await pause(1_000 - now.getMilliseconds());
  }
}

async function copyDurably(source: string, copy: string, terminal: Terminal): Promise<void> {
  const tooFull = shortOfSpace(dirname(copy), statSync(source).size);
  if (tooFull !== undefined) throw new CommandError(tooFull);
  terminal.showProgress('copying');
  const { chunkBytes: highWaterMark } = limits.disk;
  await pipeline(
    createReadStream(source, { highWaterMark }),
    createWriteStream(copy, { flags: 'wx', mode: 0o600, flush: true, highWaterMark }),
  );
}

/** Copies the plants of the backup into a database. After an interruption, run it again. */
async function restoreIntoDatabase(
  source: string,
  location: PostgresLocation,
  choices: Choices,
  terminal: Terminal,
): Promise<Restored> {
  if (choices.overwrite)
    throw new UsageError(
      '--overwrite is not possible on PostgreSQL, because the replaced plants could not be ' +
        'kept; name another database',
    );
  const acceptsLostCommits = choices['accept-lost-commits'];
  const figures = await soundFigures(source, source, terminal);
  const backup = fileLocation(source);
  await refuseOtherPlants(backup, location, acceptsLostCommits, terminal);
  const copied = { acceptsLostCommits, isForBackup: false };
  demandSame(await makeStoreCopy(backup, location, copied, terminal));
  await using store = await openToChange(location);
  await store.noteDecision(Date.now(), figures.digest);
  return { name: postgresEngine(location).url, figures };
}
