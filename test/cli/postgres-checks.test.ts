import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encryption, standbys } from '../../src/cli/doctor/network-checks.ts';
import { server } from '../../src/cli/doctor/server-checks.ts';
import { postgresLocation } from '../../src/config/postgres-location.ts';
import type { DatabaseCondition } from '../../src/stores.ts';

/** What a sound server says of itself. */
const sound: DatabaseCondition['server'] = {
  host: 'db.example.org',
  port: 5432,
  connectMs: 1,
  roundTripMs: 1,
  aheadMs: 0,
  engine: 'PostgreSQL',
  version: 'PostgreSQL 18.4',
  isEncrypted: true,
  promise: { level: 'kept here', says: 'each plant is on the disk' },
  mayTearPages: false,
  standbysDemanded: '',
  standbys: [],
  connections: undefined,
};

function condition(change: Partial<DatabaseCondition['server']>): DatabaseCondition {
  const role = { name: 'plants', isSuperuser: false, mayCreate: true, missing: [], needless: [] };
  return { server: { ...sound, ...change }, role, store: undefined };
}

function encryptionOf(query: string, change: Partial<DatabaseCondition['server']>): string {
  const location = postgresLocation(`postgres://plants@db.example.org/plants${query}`, {});
  const { level, says } = encryption({ ...condition(change), location });
  return `${level} ${says}`;
}

test('a connection that crosses the network is warned of unless it is encrypted and the server verified', () => {
  assert.match(
    encryptionOf('', { isEncrypted: false }),
    /^warning none .*sslmode=prefer.*; add sslmode=verify-full/,
  );
  assert.match(encryptionOf('', { isEncrypted: undefined }), /^warning none is known: /);
  assert.match(
    encryptionOf('?sslmode=require', { isEncrypted: undefined }),
    /^warning TLS, but the server is not verified/,
  );
  assert.match(
    encryptionOf('?sslrootcert=system', {}),
    /^ok TLS, and the server has been verified \(sslmode=verify-full\)$/,
  );
  for (const host of ['localhost', '127.0.0.1', '::1', '/run/postgresql']) {
    assert.equal(
      encryptionOf('', { host, isEncrypted: false }),
      'ok none; the server is on this machine',
      host,
    );
  }
});

test('each engine is called by its name, and a PostgreSQL that is no longer maintained is warned of', () => {
  const found = (engine: DatabaseCondition['server']['engine'], version: string) => {
    const { level, says } = server(condition({ engine, version }));
    return `${level} ${says}`;
  };
  assert.equal(found('PostgreSQL', 'PostgreSQL 15.20'), 'ok PostgreSQL 15.20');
  assert.match(
    found('PostgreSQL', 'PostgreSQL 14.20'),
    /^warning PostgreSQL 14\.20, which is no longer maintained; upgrade to 15 or later$/,
  );
  assert.equal(found('Citus', 'PostgreSQL 17.1'), 'ok Citus on PostgreSQL 17.1');
});

test('standbys are shown with how far behind they are, and one that is far behind is warned of', () => {
  const found = (...lags: (number | undefined)[]) =>
    standbys(
      condition({
        standbys: lags.map((lagBytes, index) => ({ name: `elm${index}`, kind: 'sync', lagBytes })),
      }),
    );
  assert.equal(found(), undefined);
  assert.deepEqual(found(2_048, undefined), {
    level: 'ok',
    says: 'elm0 (sync, 2 KiB behind), elm1 (sync)',
  });
  assert.equal(found(0, 2 ** 30)?.level, 'warning');
});
