import { resolve } from 'node:path';
import { limits } from '../../limits.ts';
import { shellQuoted } from '../../store/command-text.ts';
import type { StoreLocation } from '../../store/location.ts';
import { commandFor, engineOf } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { commandsOf } from '../engines.ts';
import { plantsText } from '../terminal/progress.ts';
import { checkBackup } from './check-backup.ts';
import { idsText, jsonText, linePrinter, printComparison } from './comparison-text.ts';
import { resolveBackup } from './parts.ts';
import type { Scrub } from './scrub.ts';

/**
 * Checks that a store holds every plant of a backup, byte for byte, and that its pages are sound. A
 * service on the store keeps the disk and the cores.
 *
 * @param path of a backup
 * @throws CommandError: the backup or the store is damaged, or the pages could not be checked
 */
export async function verifyAgainst(
  path: string,
  location: StoreLocation,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  terminal.lowerPriority();
  const backup = resolve(resolveBackup(path, location, terminal));
  const parts = await checkBackup(backup, terminal);
  const scrub = await commandsOf(location).scrub(parts, terminal);
  terminal.showProgress('');
  const { name } = engineOf(location);
  if (json) terminal.print(jsonOf(name, backup, scrub));
  else printForPeople(scrub, terminal);
  const damage = damageOf(scrub, backup);
  if (damage !== undefined) throw damaged(location, backup, damage);
  demandChecked(scrub, name);
  terminal.note(`The store at ${name} is sound, and holds every plant of ${backup}.`, 'good');
}

/** Compares a store with a backup. @returns the damage. @throws CommandError for a damaged backup */
export async function findDamage(
  backup: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<CommandError | undefined> {
  const scrub = await commandsOf(location).scrub(await checkBackup(backup, terminal), terminal);
  const damage = damageOf(scrub, backup);
  return damage === undefined ? undefined : damaged(location, backup, damage);
}

function damaged(location: StoreLocation, backup: string, damage: string): CommandError {
  const { name, file } = engineOf(location);
  const path = shellQuoted(resolve(backup));
  const remedy =
    file === undefined
      ? `restore the backup into another database with "plant-store restore ${path} --store …", and compare both`
      : `stop the service, and run ${commandFor(location, `repair --from ${path}`)}`;
  return new CommandError(`the store at ${name} ${damage}; ${remedy}`);
}

function demandChecked({ pages }: Scrub, name: string): void {
  if (pages === undefined || 'faults' in pages) return;
  throw new CommandError(
    `the store at ${name} holds every plant of the backup, but its pages could not be checked: ${pages.unchecked}; check again when there are fewer creates`,
  );
}

/** @returns the rest of a sentence that begins with the store; undefined if no damage was found */
function damageOf({ comparison, pages }: Scrub, backup: string): string | undefined {
  if ('fault' in comparison) return comparison.fault;
  const { plants, changed, missing, unreadable } = comparison;
  const faults = pages !== undefined && 'faults' in pages ? pages.faults : [];
  const counts = Object.entries({ changed, missing, unreadable })
    .filter(([, { count }]) => count > 0)
    .map(([name, one]) => `${one.count} ${name} (${idsText(one, limits.transfer.copyIdsShown)})`);
  const found = [
    ...(counts.length > 0
      ? [`of the ${plantsText(plants)} in ${backup}, ${counts.join(', ')}`]
      : []),
    ...(faults.length > 0 ? [`pages with faults (${faults[0]})`] : []),
  ];
  return found.length === 0 ? undefined : `is damaged: ${found.join('; ')}`;
}

function printForPeople({ comparison, pages }: Scrub, terminal: Terminal): void {
  const line = linePrinter(terminal);
  if (!('fault' in comparison)) printComparison(comparison, line);
  if (pages === undefined) return;
  line('pages', stateOf(pages));
  if ('faults' in pages) for (const fault of pages.faults) line('', fault);
}

function stateOf(pages: NonNullable<Scrub['pages']>): string {
  if ('unchecked' in pages) return 'unchecked';
  return pages.faults.length === 0 ? 'sound' : 'damaged';
}

function jsonOf(store: string, backup: string, { comparison, pages }: Scrub): string {
  return jsonText({
    store,
    backup,
    ...comparison,
    pages: pages && stateOf(pages),
    pageFaults: pages !== undefined && 'faults' in pages ? pages.faults : undefined,
  });
}
