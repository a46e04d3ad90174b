import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from '../../src/http/crowd.ts';

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
