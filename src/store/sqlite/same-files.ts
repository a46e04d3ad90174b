import { identityOf } from '../../disk/files.ts';

/** @returns whether the files are the same: a write to a removed or replaced file is lost */
export function rememberFiles(paths: readonly string[]): () => boolean {
  const identities = paths.map(identityOf);
  return () => paths.every((path, index) => identityOf(path) === identities[index]);
}
