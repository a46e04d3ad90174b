import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { issueToken } from '../../src/access/issue-token.ts';
import { openOpaqueTokens } from '../../src/access/opaque-tokens.ts';
import { limits } from '../../src/limits.ts';
import { openStore } from '../../src/stores.ts';
import { temporaryFolder } from '../helpers/program.ts';

test('a thread that is too busy for its timers still reads the tokens again, when a request needs them', async (t) => {
  await using store = await openStore({ engine: 'sqlite', path: join(await temporaryFolder(t), 'plants.db') }, 5_000);
  const issued = await issueToken(store, { name: 'my-app', role: 'create', validMs: undefined }, Date.now());
  assert('token' in issued);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using access = await openOpaqueTokens({ store, fixedToken: undefined, now: Date.now, onError: assert.ifError });
  const authenticate = () => access.authenticate(issued.token, `Bearer ${issued.token}`);

  for (const round of [1, 2]) {
    busyFor(limits.tokensRefreshMs + 1);
    const caller = authenticate();
    assert(typeof caller === 'object' && caller.name === 'my-app', `round ${round}: ${JSON.stringify(caller)}`);
    // What was read for this request is there for the next one.
    await new Promise(setImmediate);
  }

  await store.revokeToken('my-app', Date.now());
  busyFor(limits.tokensRefreshMs + 1);
  authenticate();
  await new Promise(setImmediate);
  assert.equal(authenticate(), 'unknown');
});

/** Nothing else happens in this thread meanwhile. */
function busyFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
