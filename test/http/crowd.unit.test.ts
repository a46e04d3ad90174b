import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { Crowd, type Member, networkOf } from '../../src/http/crowd.ts';
import { openTlsLayer } from '../../src/http/tls.ts';
import { sharedCounter } from '../../src/threads/shared-counter.ts';

for (const [address, network] of [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['2001:db8::2:3:4:5:6', '2001:db8:0:2'],
  ['::1', '0:0:0:0'],
  ['', ''],
] as const)
  test(`the network of ${address || 'a client that has gone'} is ${network}`, () => {
    assert.equal(networkOf(address), network);
  });

test('a handshake on another thread gives way before an idle client', () => {
  const [connections, strangers] = [sharedCounter(), sharedCounter()];
  const options = {
    ...{ counters: { connections, strangers, lingering: sharedCounter() }, threadCount: 2 },
    ...{ connectionsMax: 32, strangersBytesMax: 1, clientsBytesMax: 1 },
  };
  const unexpected = () => assert.fail();
  const layer = openTlsLayer({ certificate: '', key: '' }, unexpected, unexpected, (change) =>
    strangers.add(change, Number.POSITIVE_INFINITY),
  );
  const there = new Crowd<Member>(options, layer.endOldest);
  const askForRoom = () => void there.endStranger();
  const here = new Crowd<Member>({ ...options, askForRoom }, () => false);
  const handshake = new Socket();
  layer.accept(handshake);
  here.add({
    ...{ network: '', account: 1, awaitsReply: false, isIdle: true, idleEndMs: 1, heldBytes: 0 },
    ...{ giveWay: unexpected, destroy: unexpected },
  });
  // A newcomer is the first beyond the bound of 30. A 32nd is spare, twice.
  connections.add(30, Number.POSITIVE_INFINITY);
  assert(here.enter());
  assert(handshake.destroyed);
  assert.equal(strangers.count(), 0);
});
