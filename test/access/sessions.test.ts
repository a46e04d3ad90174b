import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionsIn } from '../../src/access/sessions.ts';

test('a session whose token expires while the store is asked admits nobody', async () => {
  let nowMs = 1_000;
  const token = { id: 1, name: 'clerk', role: 'operate', expiresAtMs: 2_000 };
  const store = {
    async findSessionToken() {
      nowMs = 2_000;
      return token;
    },
  };
  const sessions = sessionsIn(store as unknown as Parameters<typeof sessionsIn>[0], () => nowMs);
  assert.equal(await sessions.operatorOf('secret'), undefined);
});
