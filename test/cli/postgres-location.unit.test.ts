import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCommandLine } from '../../src/cli/flags/command-line.ts';
import { postgresLocation } from '../../src/cli/flags/postgres-location.ts';
import { UsageError } from '../../src/cli/flags/values.ts';
import { type PostgresLocation, shownUrl } from '../../src/store/location.ts';

const env = { USER: 'ada' };

const noFiles = { sslrootcert: undefined, sslcert: undefined, sslkey: undefined };
const plain: Omit<PostgresLocation, 'url'> = {
  engine: 'postgres',
  hosts: [{ host: 'db', port: 5432 }],
  database: 'plants',
  user: 'ada',
  password: undefined,
  tls: { sslmode: 'prefer', ...noFiles },
  options: undefined,
  applicationName: 'plant-store',
  connectMs: 2_000,
};

/** URLs, and what they mean besides what is plain. */
const urls: Record<string, Partial<PostgresLocation>> = {
  'postgresql://ada@db:5432/plants': {},
  'postgres://': { database: 'ada', hosts: [{ host: 'localhost', port: 5432 }] },
  'postgres://a%40da:%2F%3A%40%25@db/my%20plants': {
    user: 'a@da',
    password: '/:@%',
    database: 'my plants',
  },
  'postgres://ada@a,b:5433,[::1]/plants': {
    hosts: [
      { host: 'a', port: 5432 },
      { host: 'b', port: 5433 },
      { host: '::1', port: 5432 },
    ],
  },
  'postgres://ada@%2Frun%2Fpostgresql:5433/plants': {
    hosts: [{ host: '/run/postgresql', port: 5433 }],
  },
  'postgres://ada@db/plants?password=p%26w&options=-c%20search_path=garden': {
    password: 'p&w',
    options: '-c search_path=garden',
  },
  'postgres://ada@db/plants?connect_timeout=7&target_session_attrs=read-write': {
    connectMs: 7_000,
  },
  'postgres://ada@db/plants?channel_binding=prefer&gssencmode=disable&keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3':
    {},
  'postgres://ada@db/plants?sslrootcert=system': { tls: { sslmode: 'verify-full', ...noFiles } },
  'postgres://ada@db/plants?sslmode=verify-ca&sslrootcert=root&sslcert=own&sslkey=key': {
    tls: { sslmode: 'verify-ca', sslrootcert: 'root', sslcert: 'own', sslkey: 'key' },
  },
};

describe('a URL of PostgreSQL', () => {
  for (const [url, meaning] of Object.entries(urls)) {
    test(`${url} is understood as libpq would`, () => {
      const location = postgresLocation(url, env);
      assert.deepEqual(location, { ...plain, url, ...meaning });
      const { hosts, user, database, tls, options } = location;
      const shown = postgresLocation(shownUrl(location), env);
      assert.partialDeepStrictEqual(shown, { hosts, user, database, tls, options });
    });
  }
});

test('what the URL does not say comes from the PG* variables', () => {
  const variables = {
    PGHOST: 'a,b',
    PGPORT: '5433',
    PGDATABASE: 'plants',
    PGUSER: 'ada',
    PGPASSWORD: 'secret',
    PGSSLMODE: 'verify-full',
    PGSSLROOTCERT: 'root',
    PGSSLCERT: 'own',
    PGSSLKEY: 'key',
    PGOPTIONS: '-c search_path=garden',
    PGAPPNAME: 'beds',
    PGCONNECT_TIMEOUT: '3',
  };
  const expected: PostgresLocation = {
    engine: 'postgres',
    url: 'postgres://',
    hosts: [
      { host: 'a', port: 5433 },
      { host: 'b', port: 5433 },
    ],
    database: 'plants',
    user: 'ada',
    password: 'secret',
    tls: { sslmode: 'verify-full', sslrootcert: 'root', sslcert: 'own', sslkey: 'key' },
    options: '-c search_path=garden',
    applicationName: 'beds',
    connectMs: 3_000,
  };
  assert.deepEqual(postgresLocation('postgres://', variables), expected);
  const url = 'postgres://eve:pw@db:1/beds?sslmode=disable&connect_timeout=1';
  assert.deepEqual(postgresLocation(url, variables), {
    ...expected,
    url,
    hosts: [{ host: 'db', port: 1 }],
    database: 'beds',
    user: 'eve',
    password: 'pw',
    tls: { ...expected.tls, sslmode: 'disable' },
    connectMs: 1_000,
  });
});

/** What is wrong, and what is said of it. No error may have the text `secret` in it. */
const wrong: readonly [url: string, says: RegExp, variables?: Record<string, string>][] = [
  ['postgres:ada:secret@db', /must be a URL such as postgres:\/\//],
  ['postgres://ada:secret', /must be a URL/],
  ['postgres://ada:se/secret@db/plants', /must be a URL .* need %2F for \//],
  ['postgres://ada:secret@db@secret/plants', /must be a URL .* need .*%40 for @/],
  ['postgres://ada@a,b/plants?port=1,2,3', /names 2 hosts and 3 ports/],
  [
    'postgres://ada@db/plants?password=secret&sslmod=require',
    /has a parameter that is not supported; the supported ones: host, port/,
  ],
  [
    'postgres://ada@db/plants?sslmod=require&x=1',
    /has the parameter sslmod, which is not supported/,
  ],
  ['postgres://ada@db/plants?service=beds', /the parameter service, which is not supported/],
  ['postgres://ada:12/w?secret=d@db/plants', /a parameter that is not supported/],
  ['postgres://ada:12?secret', /a parameter that is not supported/],
  [
    'postgres://ada@db/plants?channel_binding=require',
    /this channel_binding \(or PGCHANNELBINDING\), which must be prefer; .*sslmode=verify-full/,
  ],
  ['postgres://ada@db/plants?gssencmode=require', /this gssencmode .*must be one of disable, pre/],
  ['postgres://ada@db/plants', /this channel_binding .*must be/, { PGCHANNELBINDING: 'require' }],
  ['postgres://ada@db/plants', /does not work with PGSERVICE, .*; unset it/, { PGSERVICE: 'beds' }],
  [
    'postgres://ada@db/plants?sslmode=require',
    /needs sslmode=verify-full with sslrootcert=system \(or PGSSLROOTCERT\)/,
    { PGSSLROOTCERT: 'system' },
  ],
  [
    'postgres://ada@db/plants?sslmode=secret',
    /this sslmode .*must be one of disable, prefer, require, verify-ca, verify-full/,
  ],
  [
    'postgres://ada@db/plants?sslmode=require&sslrootcert=system',
    /needs sslmode=verify-full with sslrootcert=system/,
  ],
  ['postgres://db/plants', /names no user/, { USER: '' }],
  ['host=db password=secret', /must be sqlite:PATH, or postgres:\/\//],
];

describe('what is not supported is refused with the way out, and without the password', () => {
  for (const [url, says, variables] of wrong) {
    test(`${url} ${Object.keys(variables ?? {})}`.trimEnd(), () => {
      const isRefusal = (error: unknown) => {
        assert(error instanceof UsageError);
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      };
      const parse = () => parseCommandLine(['--store', url], ['store'], { ...env, ...variables });
      assert.throws(parse, isRefusal);
    });
  }
});

test('a setting that is shown says where the store is, and not the password', () => {
  const variables = { ...env, PGPASSWORD: 'secret', PGPORT: '5433' };
  const { settings } = parseCommandLine(
    ['--store', 'postgres://a%40da:secret@db,[::1]/plants?password=secret'],
    ['store'],
    variables,
  );
  assert.equal(settings[0]?.value, 'postgres://a%40da@db:5433,[::1]:5433/plants');
});
