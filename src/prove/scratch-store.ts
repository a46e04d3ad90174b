import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { StoreLocation } from '../store/location.ts';

/** A store that is loaded, looked into and removed. Disposing of it removes it. */
export interface ScratchStore extends AsyncDisposable {
  readonly location: StoreLocation;
  /** As `--store` names it to the server, and what else its environment has to say. */
  readonly flag: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A store in a new folder below another. */
export function scratchFile(folder: string, name: string): ScratchStore {
  const path = join(folder, name, 'plants.db');
  return {
    location: { engine: 'sqlite', path },
    flag: `sqlite:${path}`,
    env: {},
    [Symbol.asyncDispose]: async () => rmSync(dirname(path), { recursive: true, force: true }),
  };
}
