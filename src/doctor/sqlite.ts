import { constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { nearestExisting } from '../disk/file-system.ts';
import { limits } from '../limits.ts';
import type { Finding, NamedFinding } from '../ops/contract.ts';
import { engineOf, sqliteEngine } from '../store/engines.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import { defaultStorePath, type SqliteLocation } from '../store/location.ts';
import { descriptors } from './machine-checks.ts';
import {
  checkOutside,
  error,
  isAllowed,
  lookAt,
  named,
  ok,
  type StoreFile,
  storeText,
  warning,
} from './start.ts';

/** Does every check, without changing the store. @throws CommandError without permission */
export async function checkSqlite(
  location: SqliteLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const store = lookAt(location, userId);
  return [
    ...checkOutside(store),
    ...named({
      folder: folder(store),
      descriptors: descriptors(),
      sync: await sync(location),
      schema: await schema(store),
    }),
  ];
}

async function sync(location: SqliteLocation): Promise<Finding | undefined> {
  const says = await sqliteEngine(location).doubt();
  return says === undefined ? undefined : { level: 'error', says };
}

async function schema({ location, file: stats }: StoreFile): Promise<Finding> {
  const path = resolve(location.path);
  if (!stats?.size) {
    const ofPackage = storeOfPackage(location.path);
    if (ofPackage !== undefined) return warning(`there is no store at ${path}`, ofPackage);
    return ok(
      `there is no store at ${path} yet; ${engineOf(location).command('serve')} makes the store`,
    );
  }
  try {
    await using store = await engineOf(location).openReader(limits.cli.readMs);
    const triggers = await sqliteEngine(location).triggers();
    if (triggers) return error(`the store has ${triggers.says}`, triggers.remedy);
    return ok(storeText((await store.identity())?.identity));
  } catch (cause) {
    // The message names the way out.
    if (cause instanceof StoreOpenError) return { level: 'error', says: cause.message };
    if (!(cause instanceof StoreError)) throw cause;
    return error(
      `the store cannot be read (${cause.message})`,
      `find the cause with ${engineOf(location).command('verify')}`,
    );
  }
}

/**
 * Where plants are if the default store is missing, and this machine has the Debian package.
 *
 * @returns a clause that says what to do; undefined for another store or machine
 */
function storeOfPackage(path: string): string | undefined {
  const isPackaged = existsSync('/usr/lib/systemd/system/plant-store.service');
  if (path !== defaultStorePath || !isPackaged) return undefined;
  const [home, settings] = ['/var/lib/plant-store', '/etc/default/plant-store'];
  const environment = `--chdir=${home} HOME=${home} $(grep -v '^#' ${settings})`;
  return (
    `the service has its store at ${home}/${defaultStorePath}, or as ${settings} says; root ` +
    `opens a shell for it with "runuser --user plant-store -- env ${environment} bash"`
  );
}

function folder({ location }: StoreFile): Finding {
  const path = dirname(resolve(location.path));
  const existing = nearestExisting(path);
  if (!statSync(existing).isDirectory())
    return error(
      `${existing} is not a folder`,
      'move that file away, or choose another store with --store',
    );
  if (!isAllowed(existing, constants.W_OK | constants.X_OK)) {
    return error(
      `no files can be made in ${existing}`,
      'give the folder to the user of the service, and mount the disk for writing',
    );
  }
  return ok(
    existing === path ? `files can be made in ${path}` : `${path} can be made in ${existing}`,
  );
}
