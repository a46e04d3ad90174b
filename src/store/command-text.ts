import { existsSync } from 'node:fs';
import { defaultStorePath } from './location.ts';

/**
 * A command of the program for a message, in quotes: on the store, and good in a shell in any
 * folder.
 *
 * @param store as in `Engine.url`
 */
export function commandOn(store: string, words: string): string {
  return `"plant-store ${words} --store ${shellQuoted(store)}"`;
}

/** A word for a shell. */
export function shellQuoted(text: string): string {
  return /^[A-Za-z0-9/._:@+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Where plants are if the default store is missing, and this machine has the Debian package.
 *
 * @returns a clause that says what to do; undefined for another store or machine
 */
export function storeOfPackage(path: string): string | undefined {
  const isPackaged = existsSync('/usr/lib/systemd/system/plant-store.service');
  if (path !== defaultStorePath || !isPackaged) return undefined;
  const [home, settings] = ['/var/lib/plant-store', '/etc/default/plant-store'];
  const environment = `--chdir=${home} HOME=${home} $(grep -v '^#' ${settings})`;
  return (
    `the service has its store at ${home}/${defaultStorePath}, or as ${settings} says; root ` +
    `opens a shell for it with "runuser --user plant-store -- env ${environment} bash"`
  );
}
