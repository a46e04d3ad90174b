import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { listenForOperators } from '../../src/ops/listener.ts';
import { connectRaw } from '../helpers/raw.ts';

test('the signal of a request is aborted when its client goes, or closes its half of the connection', async (t) => {
  const asked: AbortSignal[] = [];
  let change = Promise.withResolvers<void>();
  const listener = await listenForOperators({
    ...{
      opsHost: '127.0.0.1',
      opsPort: 0,
      opsNames: [],
      tls: undefined,
      reusePort: false,
      opsConnectionsMax: limits.service.opsConnectionsMin,
    },
    probes: {},
    loadConsole:
      async () =>
      ({ signal }) => {
        asked.push(signal);
        change.resolve();
        return once(signal, 'abort').then(() => ({ status: 200, headers: {}, body: 'late' }));
      },
    events: { refused: () => undefined, failed: (error) => assert.fail(`${error}`) },
  });
  t.after(() => listener.close(0, 0));

  const leave = [
    (raw: Awaited<ReturnType<typeof connectRaw>>) => raw.socket.end(),
    (raw: Awaited<ReturnType<typeof connectRaw>>) => raw.socket.resetAndDestroy(),
  ];
  for (const go of leave) {
    change = Promise.withResolvers();
    const raw = await connectRaw(t, Number(new URL(listener.origin).port));
    raw.send('GET /search HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await change.promise;
    const signal = asked.at(-1) ?? assert.fail();
    assert.equal(signal.aborted, false);
    const aborted = once(signal, 'abort', { signal: AbortSignal.timeout(60_000) });
    go(raw);
    await aborted;
  }
});
