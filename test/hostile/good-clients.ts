import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadResult } from '../../bench/load-generator.ts';
import { type RunningServer, token } from '../helpers/program.ts';

const loadGenerator = fileURLToPath(new URL('../../bench/load-generator.ts', import.meta.url));
let nextId = 1_000_000_000;

/**
 * Lets well-behaved clients create plants, each one after the other. They have a process of their
 * own, so that the hostile clients in this process do not slow them. Fails at the first reply other
 * than 200.
 */
export async function letGoodClientsCreate(
  { child, port }: RunningServer,
  { connections, measureMs }: { readonly connections: number; readonly measureMs: number },
): Promise<LoadResult> {
  const order: LoadOrder = {
    port,
    token,
    targetPid: child.pid ?? 0,
    connections,
    firstId: nextId,
    warmupMs: 200,
    measureMs,
  };
  nextId += 100_000_000;
  const clients = spawn(process.execPath, [loadGenerator, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [printed, errors] = await Promise.all([text(clients.stdout), text(clients.stderr)]);
  assert.equal(errors, '');
  return JSON.parse(printed);
}
