import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limits } from '../../src/limits.ts';
import type { Owner } from '../helpers/program.ts';
import { connectRaw, type RawConnection } from '../helpers/raw.ts';

const livez = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';

export const halfOfRequest = livez.slice(0, 20);

export const lacksLoopback =
  process.platform !== 'linux' && 'only on Linux is every address of 127.0.0.0/8 there';

/** Floods the port from the address of the probes. Resolves when there is no room for all. */
async function flood(port: number, bytes: string): Promise<Worker> {
  const connections = 2 * limits.service.opsConnectionsMax;
  const workerData = { port, connections, bytes };
  const worker = new Worker(new URL('../helpers/flood.ts', import.meta.url), { workerData });
  await once(worker, 'message');
  return worker;
}

/** Asserts that probes are answered, and that a connection of another address stays. */
export async function assertAnsweredInFlood(
  t: Owner,
  opsUrl: string,
  bytes: string,
): Promise<void> {
  const port = Number(new URL(opsUrl).port);
  const elsewhere = await connectRaw(t, port, '127.0.0.2');
  const assertAnswered = async ({ send, reply }: RawConnection, path = '/livez') => {
    send(livez.replace('/livez', path));
    assert.equal((await reply()).status, 200);
  };
  await assertAnswered(elsewhere);
  const worker = await flood(port, bytes);
  for (let round = 0; round < 2; round += 1) {
    for (const path of ['/livez', '/readyz']) await assertAnswered(await connectRaw(t, port), path);
    await assertAnswered(elsewhere);
  }
  await worker.terminate();
}
