import { identityOf } from '../../disk/files.ts';

/**
 * Remembers the files at the paths. A process that writes to a removed or replaced file loses the
 * data.
 *
 * @returns whether the same files are still there
 */
export function rememberFiles(paths: readonly string[]): () => boolean {
  const identities = paths.map(identityOf);
  return () => paths.every((path, index) => identityOf(path) === identities[index]);
}
