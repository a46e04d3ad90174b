import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  durabilityUnder,
  type SessionSettings,
  standbysDemand,
} from '../../src/store/postgres/session.ts';
import type { Durability } from '../../src/store/store.ts';

const usual: SessionSettings = {
  version: 'PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit',
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousStandbyNames: '',
  searchPath: 'public',
  pooler: undefined,
  isCitus: false,
};
const standbys = { synchronousStandbyNames: 'ANY 1 (a, b)' };

const promises: Record<
  string,
  [settings: Partial<SessionSettings>, level: Durability['level'], disks: number, says: RegExp]
> = {
  'by itself': [
    {},
    'kept here',
    1,
    /on the disk of the server .* a standby that takes over may lack the last ones$/,
  ],
  'with standbys': [
    standbys,
    'kept',
    2,
    /the disk of the server .* the disks of as many standbys as synchronous_standby_names='ANY 1 \(a, b\)'/,
  ],
  'with a list of standbys': [{ synchronousStandbyNames: 'a, b' }, 'kept', 2, /'a, b' asks for/],
  'with two standbys': [{ synchronousStandbyNames: '2 (a, b, c)' }, 'kept', 3, /'2 \(a, b, c\)'/],
  'that does not sync': [{ ...standbys, fsync: 'off' }, 'lost', 0, /fsync=off/],
  'with pages that may tear': [
    { fullPageWrites: 'off' },
    'kept here',
    1,
    /on the disk of the server .*; full_page_writes=off is only safe/,
  ],
};

for (const [what, [settings, level, disks, says]] of Object.entries(promises)) {
  test(`a commit of a server ${what} is ${level}`, () => {
    const promise = durabilityUnder({ ...usual, ...settings });
    assert.deepEqual([promise.level, promise.disks], [level, disks]);
    assert.match(promise.says, says);
  });
}

test('plants count as created again one second after the standbys are enough', () => {
  let nowMs = 0;
  const demand = standbysDemand(2, () => nowMs);
  demand(['2 (a, b, c)', 'ANY 2 (*)']);
  assert.throws(() => demand(['2 (a, b)', 'a']), {
    failure: 'unavailable',
    message:
      'the number of synchronous standbys that the database waits for is 1 ' +
      "(synchronous_standby_names='a'), and --min-standbys asks for 2",
  });
  nowMs = 999;
  assert.throws(
    () => demand(['2 (a, b)']),
    /enough standbys again, .* less than 1 s, and --min-st/,
  );
  nowMs = 1_000;
  demand(['2 (a, b)']);
});
