import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { join } from 'node:path';

export function isHere(program: string): boolean {
  return spawnSync('which', [program]).status === 0;
}

/** CI has an empty home, and Go takes half a minute to compile its library. */
export const withGoCache = {
  ...process.env,
  GOCACHE: process.env['GOCACHE'] ?? join(userInfo().homedir, '.cache/go-build'),
  CGO_ENABLED: '0',
};
