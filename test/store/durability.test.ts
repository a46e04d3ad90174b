import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commitPromise, type SessionSettings } from '../../src/store/postgres/session.ts';
import type { CommitPromise } from '../../src/store/store.ts';

const usual: SessionSettings = {
  version: 'PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit',
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousStandbyNames: '',
  searchPath: 'public',
  pooler: undefined,
};
const standbys = { synchronousStandbyNames: 'ANY 1 (a, b)' };

const promises: Record<string, [Partial<SessionSettings>, CommitPromise['level'], RegExp]> = {
  'by itself': [
    {},
    'kept here',
    /on the disk of the server .* a standby that takes over may lack the last ones$/,
  ],
  'with standbys': [
    standbys,
    'kept',
    /the disk of the server .* the disks of as many standbys as synchronous_standby_names='ANY 1 \(a, b\)'/,
  ],
  'that does not sync': [{ ...standbys, fsync: 'off' }, 'lost', /fsync=off/],
  'with pages that may tear': [
    { fullPageWrites: 'off' },
    'kept here',
    /on the disk of the server .*; full_page_writes=off is only safe/,
  ],
};

for (const [what, [settings, level, says]] of Object.entries(promises)) {
  test(`a commit of a server ${what} is ${level}`, () => {
    const promise = commitPromise({ ...usual, ...settings });
    assert.equal(promise.level, level);
    assert.match(promise.says, says);
  });
}
