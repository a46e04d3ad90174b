import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RunningServer } from './program.ts';

export const plant = (id: number) => ({ id, name: `Plant ${id}` });

export async function statusAndCode(
  reply: Response,
): Promise<readonly [number, number | undefined]> {
  const { error } = (await reply.json()) as { error?: number };
  return [reply.status, error];
}

/** The server is one that nobody has told to end. */
export async function assertEndsByItself(server: RunningServer, says: RegExp): Promise<void> {
  if (server.child.exitCode === null) await once(server.child, 'close');
  assert.equal(server.child.exitCode, 1);
  assert.match(server.stderr(), says);
  assert.match(server.stderr(), /the service cannot go on/);
}
