import assert from 'node:assert/strict';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Limits } from '../../src/limits.ts';
import { type RunningServer, token } from './program.ts';

/** The environment of a server that `sabotage.ts` harms, there under SABOTAGE and SABOTAGE_WHILE. */
export function sabotaging(kind: string, whileFile?: string): Readonly<Record<string, string>> {
  const preload = fileURLToPath(new URL('sabotage.ts', import.meta.url));
  return {
    PLANT_STORE_TOKEN: token,
    NODE_OPTIONS: `--import=${preload}`,
    SABOTAGE: kind,
    ...(whileFile !== undefined && { SABOTAGE_WHILE: whileFile }),
  };
}

type Changed = { readonly [P in keyof Limits]?: Partial<Limits[P]> };

/** The environment of a server with other limits. */
export function withLimits(changed: Changed): Readonly<Record<string, string>> {
  return { ...sabotaging('limits are changed'), CHANGED_LIMITS: JSON.stringify(changed) };
}

export const plant = (id: number) => ({ id, name: `Plant ${id}` });

export async function statusAndCode(
  reply: Response,
): Promise<readonly [number, number | undefined]> {
  const { error } = (await reply.json()) as { error?: number };
  return [reply.status, error];
}

/** For a server that has received no signal to stop. */
export async function assertEndsByItself(server: RunningServer, says: RegExp): Promise<void> {
  if (server.child.exitCode === null) await once(server.child, 'close');
  assert.equal(server.child.exitCode, 1);
  assert.match(server.stderr(), says);
  assert.match(server.stderr(), /the service cannot go on/);
}
