import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compactTime } from '../../disk/compact-time.ts';
import { shortOfSpace } from '../../disk/file-system.ts';
import { isSameFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { shellQuoted } from '../../store/command-text.ts';
import { holdsAll } from '../../store/comparison.ts';
import { fileLocation, type SqliteLocation } from '../../store/location.ts';
import type { CompletedCopy, Diagnosis, TableOrigin } from '../../store/repair.ts';
import { commandFor, sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { plantsText } from '../terminal/progress.ts';
import { assembleBackup } from './assemble-backup.ts';
import { checkBackup } from './check-backup.ts';
import {
  idsText,
  jsonText,
  linePrinter,
  printComparison,
  printSample,
  rangesText,
} from './comparison-text.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/**
 * Makes a store of the plants of the backup and of the plants that only the damaged store holds, and
 * puts it in the place of the damaged store, which gets another name. At every moment one of the two
 * stands there.
 *
 * @throws CommandError, StoreOpenError, StoreError. The store is then as it was.
 */
export async function repairFile(
  backup: string,
  location: SqliteLocation,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const path = resolve(location.path);
  demandStore(path, backup);
  if (isSameFile(backup, path)) throw new CommandError(`${backup} is the store itself`);
  const parts = await checkBackup(backup, terminal);
  using store = await sqliteEngine(location).claim(true);
  const diagnosis = await sqliteEngine(location).diagnose(parts, terminal.showProgress);
  if (isSound(diagnosis)) return reportSound(path, backup, diagnosis, json, terminal);
  refuseOtherStore(path, backup, diagnosis);
  const keptPath = `${path}.replaced-${compactTime(new Date())}`;
  const completed = await withUnfinishedFolder(
    { path, work: 'the repair', left: `the store at ${path} is as it was; repair it again` },
    terminal,
    async (folder) => {
      const copy = join(folder, 'plants.db');
      demandSpace(folder, path);
      await assembleBackup(backup, copy, terminal);
      const made = await completeCopy(location, copy, parts, diagnosis, terminal);
      store.replaceBy(copy, keptPath);
      return made;
    },
  );
  const repair = { store: path, backup, replaced: keptPath, diagnosis, completed };
  report(repair, json, terminal);
}

function demandStore(path: string, backup: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return;
  throw new CommandError(
    `there is no store at ${path} to repair; ${commandFor(fileLocation(path), `restore ${shellQuoted(backup)}`)} makes one`,
  );
}

function isSound({ comparison, pageFaults }: Diagnosis): boolean {
  return pageFaults.length === 0 && !('fault' in comparison) && holdsAll(comparison);
}

/** A backup of another store would add all its plants. */
function refuseOtherStore(path: string, backup: string, diagnosis: Diagnosis): void {
  const { comparison, pageFaults } = diagnosis;
  if ('fault' in comparison || pageFaults.length > 0) return;
  const { plants, changed, missing } = comparison;
  if (changed.count + missing.count < plants) return;
  throw new CommandError(
    `the store at ${path} has no damaged page, and no plant as in ${backup}, which is the backup of another store; name another backup, or replace the store with ${commandFor(fileLocation(path), 'restore BACKUP --overwrite')}`,
  );
}

/** The copy of the backup may become as large as the damaged store. */
function demandSpace(folder: string, path: string): void {
  const tooFull = shortOfSpace(folder, statSync(path).size);
  if (tooFull !== undefined) throw new CommandError(tooFull);
}

/** Adds what only the damaged store holds, and checks the result. */
async function completeCopy(
  location: SqliteLocation,
  copy: string,
  parts: readonly string[],
  diagnosis: Diagnosis,
  { showProgress }: Terminal,
): Promise<CompletedCopy> {
  const completed = await sqliteEngine(location).completeCopy(copy, diagnosis, showProgress);
  const made = await sqliteEngine(fileLocation(copy)).diagnose(parts, showProgress);
  if (isSound(made)) return completed;
  throw new CommandError(
    `the repaired copy is not sound (${made.pageFaults[0] ?? 'it lacks plants of the backup'}); the disk or the memory of this machine may be faulty, so restore the backup on another machine`,
  );
}

function reportSound(
  path: string,
  backup: string,
  diagnosis: Diagnosis,
  json: boolean,
  terminal: Terminal,
): void {
  terminal.showProgress('');
  if (json)
    terminal.print(jsonText({ store: path, backup, ...diagnosis.comparison, pageFaults: [] }));
  terminal.note(
    `The store at ${path} is sound, and holds every plant of ${backup}; nothing has been changed.`,
    'good',
  );
}

interface Repair {
  readonly store: string;
  readonly backup: string;
  /** The new name of the damaged store. */
  readonly replaced: string;
  readonly diagnosis: Diagnosis;
  readonly completed: CompletedCopy;
}

function report(repair: Repair, json: boolean, terminal: Terminal): void {
  const { store, backup, replaced, diagnosis, completed } = repair;
  const { comparison, pageFaults } = diagnosis;
  terminal.showProgress('');
  if (json) {
    const found = { ...comparison, pageFaults, ...completed };
    terminal.print(jsonText({ store, backup, ...found, replaced }));
  } else printForPeople(repair, terminal);
  for (const note of [...losses(repair), ...origins(store, completed)]) terminal.note(note);
  terminal.note(`The damaged store is kept at ${replaced}.`);
  terminal.note(`The store at ${store} holds every plant of ${backup}. Start the service.`, 'good');
}

function printForPeople({ diagnosis, completed }: Repair, terminal: Terminal): void {
  const line = linePrinter(terminal);
  if (!('fault' in diagnosis.comparison)) printComparison(diagnosis.comparison, line);
  printSample('added', completed.onlyInStore, line);
  if (completed.lost !== undefined) printSample('lost', completed.lost, line);
  for (const [name, origin] of Object.entries(completed.tables)) line(name, `from ${origin}`);
}

/** What the repair could not bring back, as sentences. */
function losses({ replaced, diagnosis, completed }: Repair): string[] {
  const { comparison, pageFaults } = diagnosis;
  const { onlyInStore, lost } = completed;
  const { idsShown } = limits.scrub;
  const isTorn = pageFaults.length > 0 || 'fault' in comparison || comparison.unreadable.count > 0;
  const walBytes = statSync(`${replaced}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return [
    ...('fault' in comparison ? [`The damaged store ${comparison.fault}.`] : []),
    ...(onlyInStore.count > 0
      ? [
          `Only in the damaged store, and taken over: ${plantsText(onlyInStore.count)}. No backup vouches for this part.`,
        ]
      : []),
    ...(lost !== undefined && lost.count > 0
      ? [
          `${plantsText(lost.count)} ${lost.count === 1 ? 'is' : 'are'} lost (${idsText(lost, idsShown)}): clients have to create them again.`,
        ]
      : []),
    ...(lost === undefined && isTorn ? [unknownLoss(comparison)] : []),
    ...(walBytes > 0 ? [`The plants in ${replaced}-wal could not be read.`] : []),
  ];
}

/** Pages hold neighbours in the order of the ids. */
function unknownLoss(comparison: Diagnosis['comparison']): string {
  const ranges = 'fault' in comparison ? [] : comparison.unreadableRanges;
  const where = ranges.length > 0 ? `, with ids near ${rangesText(ranges)}` : '';
  return `Plants that are newer than the backup may be lost${where}: the store no longer knows which.`;
}

function origins(store: string, { tables }: CompletedCopy): string[] {
  const named = (wanted: TableOrigin) =>
    Object.entries(tables).flatMap(([name, origin]) => (origin === wanted ? [name] : []));
  const old = named('backup');
  if (old.length === 0) return [];
  return [
    `These tables could not be read whole, and are as in the backup: ${old.join(', ')}. Look at ${commandFor(fileLocation(store), 'token list')}.`,
  ];
}
