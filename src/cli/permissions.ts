import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/environment.ts';
import { firstTokenFile, isSocketFolder, type StoreLocation, socketPath } from '../store/location.ts';

const program = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The flags with which Node lets the service do what it needs and nothing else (nodejs.org/api/permissions.html): read its
 * own code, the folder of the store and the token file; write the store, the first token and compiled code; listen; start
 * threads. It may start no program and load no native code.
 */
export function permissionFlags(location: StoreLocation, tokenFile: string | undefined, env: Environment): string[] {
  const compiled = env['NODE_COMPILE_CACHE'];
  const firstToken = resolve(firstTokenFile(location));
  const { read, write } = filesOf(location);
  const allRead = [program, dirname(firstToken), tokenFile, compiled, ...read];
  const allWritten = [`${firstToken}*`, compiled, ...write];
  return [
    '--permission',
    '--allow-net',
    '--allow-worker',
    ...pathFlags('--allow-fs-read', allRead),
    ...pathFlags('--allow-fs-write', allWritten),
    // Node warns of each flag that allows something.
    '--disable-warning=SecurityWarning',
    '--disable-warning=ExperimentalWarning',
  ];
}

function filesOf(location: StoreLocation): { read: (string | undefined)[]; write: string[] } {
  if (location.engine === 'postgres') {
    const { hosts, passwordFile, tls } = location;
    const sockets = hosts.filter(({ host }) => isSocketFolder(host)).map(socketPath);
    return { read: [...sockets, passwordFile, tls.rootFile, tls.certificateFile, tls.keyFile], write: [] };
  }
  const store = resolve(location.path);
  // SQLite keeps its files beside the one that a link leads to.
  return { read: [existsSync(store) ? dirname(realpathSync(store)) : undefined], write: [`${store}*`] };
}

function pathFlags(flag: string, paths: readonly (string | undefined)[]): string[] {
  const given = paths.filter((path) => path !== undefined).map((path) => resolve(path));
  return [...new Set([...given, ...given.map(withoutLinks)])].map((path) => `${flag}=${path}`);
}

/** The same path with the symbolic links in its folder resolved: the model compares names. */
function withoutLinks(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), path.slice(folder.length)) : path;
}
