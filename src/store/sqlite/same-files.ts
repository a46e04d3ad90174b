import { identityOf } from '../../disk/files.ts';

/**
 * Remembers which files stand at the paths. Whoever removes or replaces an open file leaves its
 * owner writing to one that nobody will ever find again.
 *
 * @returns whether the same files still stand there
 */
export function rememberFiles(paths: readonly string[]): () => boolean {
  const identities = paths.map(identityOf);
  return () => paths.every((path, index) => identityOf(path) === identities[index]);
}
