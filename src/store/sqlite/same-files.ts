import { statSync } from 'node:fs';

/**
 * Remembers which files stand at the paths. Whoever removes or replaces an open file leaves its owner writing to one that nobody will
 * ever find again.
 *
 * @returns whether the same files still stand there
 */
export function rememberFiles(paths: readonly string[]): () => boolean {
  const identities = paths.map(identity);
  return () => paths.every((path, index) => identity(path) === identities[index]);
}

/** Device and inode. They have more digits than a number holds, on Windows at least. */
function identity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
