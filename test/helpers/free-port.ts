import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of the loopback address that no program has now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  assert(address !== null && typeof address === 'object');
  return address.port;
}
