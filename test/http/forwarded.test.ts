import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import { clientAddress } from '../../src/http/forwarded.ts';

const trusted = new BlockList();
trusted.addSubnet('10.0.0.0', 8, 'ipv4');
trusted.addSubnet('2001:db8::', 32, 'ipv6');
trusted.addAddress('127.0.0.1');

const client = (peer: string, fields: Record<string, string[]>) =>
  clientAddress(peer, new Map(Object.entries(fields)), trusted);

test('the client is the last address that is not a trusted proxy', () => {
  const forwardedFor = (...values: string[]) => ({ 'x-forwarded-for': values });
  const cases: [string, Record<string, string[]>, string][] = [
    ['203.0.113.9', {}, '203.0.113.9'],
    ['203.0.113.9', forwardedFor('198.51.100.7'), '203.0.113.9'],
    ['127.0.0.1', {}, '127.0.0.1'],
    ['127.0.0.1', forwardedFor('198.51.100.7'), '198.51.100.7'],
    ['127.0.0.1', forwardedFor('1.1.1.1, 198.51.100.7,10.1.2.3'), '198.51.100.7'],
    ['127.0.0.1', forwardedFor('1.1.1.1', '198.51.100.7', '10.1.2.3'), '198.51.100.7'],
    ['127.0.0.1', forwardedFor('10.0.0.1, 10.0.0.2'), '10.0.0.1'],
    ['127.0.0.1', forwardedFor('198.51.100.7:4711'), '198.51.100.7'],
    ['127.0.0.1', forwardedFor('2001:db9::1'), '2001:db9::1'],
    ['2001:db8::1', forwardedFor('[2001:db9::1]:4711'), '2001:db9::1'],
    ['127.0.0.1', forwardedFor('198.51.100.7, unknown'), '127.0.0.1'],
    ['127.0.0.1', forwardedFor('198.51.100.7, 10.0.0.1, no address'), '127.0.0.1'],
    ['127.0.0.1', forwardedFor(''), '127.0.0.1'],
    ['127.0.0.1', forwardedFor('1.1.1.1,'.repeat(2_000), '198.51.100.7'), '198.51.100.7'],
    ['', forwardedFor('198.51.100.7'), ''],
  ];
  for (const [peer, fields, expected] of cases)
    assert.equal(client(peer, fields), expected, `${peer} ${JSON.stringify(fields)}`);
});

test('Forwarded comes before X-Forwarded-For, in every form of RFC 7239', () => {
  const cases: [string, string][] = [
    ['for=198.51.100.7', '198.51.100.7'],
    ['For="198.51.100.7:4711"', '198.51.100.7'],
    ['for="[2001:db9::1]"', '2001:db9::1'],
    ['for="[2001:db9::1]:4711";proto=https;by=203.0.113.43', '2001:db9::1'],
    ['proto=https; for=198.51.100.7', '198.51.100.7'],
    ['for=1.1.1.1, for=198.51.100.7;host="a,b", for=10.0.0.1', '198.51.100.7'],
    ['for=198.51.100.7;ext="for=1.1.1.1"', '198.51.100.7'],
    ['for=198.51.100.7, for=unknown', '127.0.0.1'],
    ['for=198.51.100.7, for=_hidden', '127.0.0.1'],
    ['for=198.51.100.7, proto=http', '127.0.0.1'],
    ['"', '127.0.0.1'],
    // A client opens a quote, and hopes that the proxy closes it.
    ['for=1.1.1.1;x=", for=198.51.100.7', '127.0.0.1'],
    ['x=", for="[2001:db9::1]"', '127.0.0.1'],
    ['a=";for=1.1.1.1;b=, for="[2001:db9::1]"', '127.0.0.1'],
    ['a=";for=1.1.1.1;b=", for=198.51.100.7', '198.51.100.7'],
  ];
  for (const [forwarded, expected] of cases)
    assert.equal(
      client('127.0.0.1', { forwarded: [forwarded], 'x-forwarded-for': ['192.0.2.1'] }),
      expected,
      forwarded,
    );
});
