import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseCommandLine } from '../../src/config/command-line.ts';
import { postgresLocation } from '../../src/config/postgres/location.ts';
import { UsageError } from '../../src/config/values.ts';
import type { PostgresLocation } from '../../src/store/location.ts';
import { postgresText } from '../../src/store/postgres/location.ts';
import { temporaryFolder } from '../helpers/program.ts';

/** A home without any files. */
const env = { HOME: '/nonexistent' };
const name = userInfo().username;
/** Where a machine has a server at that port, its socket. */
const usualHost = (port: number) =>
  ['/var/run/postgresql', '/tmp'].find((folder) => existsSync(`${folder}/.s.PGSQL.${port}`)) ??
  'localhost';
const certificate = import.meta.filename;

const plain: PostgresLocation = {
  engine: 'postgres',
  hosts: [{ host: 'db', port: 5432 }],
  database: 'plants',
  user: 'ada',
  password: undefined,
  passwordFile: '/nonexistent/.pgpass',
  tls: { mode: 'prefer', rootFile: undefined, certificateFile: undefined, keyFile: undefined },
  options: undefined,
  applicationName: 'plant-store',
  connectMs: 2_000,
};

/** URLs, and what they mean besides what is plain. */
const urls: Record<string, Partial<PostgresLocation>> = {
  'postgres://ada@db/plants': {},
  'postgresql://ada@db:5432/plants': {},
  'postgres://ada@db/': { database: 'ada' },
  'postgres://db/plants': { user: name },
  'postgres://': { user: name, database: name, hosts: [{ host: usualHost(5432), port: 5432 }] },
  'postgres://ada@:6000/plants': { hosts: [{ host: usualHost(6000), port: 6000 }] },
  'postgres://ada:se:cret@db/plants': { password: 'se:cret' },
  'postgres://a%40da:%2F%3A%40%25@db/my%20plants': {
    user: 'a@da',
    password: '/:@%',
    database: 'my plants',
  },
  'postgres://ada@[::1]:5433/plants': { hosts: [{ host: '::1', port: 5433 }] },
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
  'postgres:///plants?user=ada&host=/run/postgresql': {
    hosts: [{ host: '/run/postgresql', port: 5432 }],
  },
  'postgres://x@y:1/z?user=ada&host=a,b&port=5433&dbname=plants': {
    hosts: [
      { host: 'a', port: 5433 },
      { host: 'b', port: 5433 },
    ],
  },
  'postgres://ada@db/plants?password=p%26w&passfile=/run/passwords': {
    password: 'p&w',
    passwordFile: '/run/passwords',
  },
  'postgres://ada@db/plants?options=-c%20search_path=garden&application_name=beds': {
    options: '-c search_path=garden',
    applicationName: 'beds',
  },
  'postgres://ada@db/plants?connect_timeout=7&target_session_attrs=read-write': {
    connectMs: 7_000,
  },
  'postgres://ada@db/plants?sslmode=require': { tls: { ...plain.tls, mode: 'require' } },
  [`postgres://ada@db/plants?sslmode=verify-ca&sslrootcert=${certificate}&sslcert=${certificate}&sslkey=${certificate}`]:
    {
      tls: {
        mode: 'verify-ca',
        rootFile: certificate,
        certificateFile: certificate,
        keyFile: certificate,
      },
    },
  'postgres://ada@db/plants?sslrootcert=system': {
    tls: { ...plain.tls, mode: 'verify-full', rootFile: 'system' },
  },
};

describe('a URL of PostgreSQL', () => {
  for (const [url, meaning] of Object.entries(urls)) {
    test(`${url.replace(certificate, 'FILE')} is understood as libpq would`, () => {
      assert.deepEqual(postgresLocation(url, env), { ...plain, ...meaning });
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
    PGPASSFILE: '/run/passwords',
    PGSSLMODE: 'verify-full',
    PGSSLROOTCERT: certificate,
    PGSSLCERT: certificate,
    PGSSLKEY: certificate,
    PGOPTIONS: '-c search_path=garden',
    PGAPPNAME: 'beds',
    PGCONNECT_TIMEOUT: '3',
  };
  const expected: PostgresLocation = {
    engine: 'postgres',
    hosts: [
      { host: 'a', port: 5433 },
      { host: 'b', port: 5433 },
    ],
    database: 'plants',
    user: 'ada',
    password: 'secret',
    passwordFile: '/run/passwords',
    tls: {
      mode: 'verify-full',
      rootFile: certificate,
      certificateFile: certificate,
      keyFile: certificate,
    },
    options: '-c search_path=garden',
    applicationName: 'beds',
    connectMs: 3_000,
  };
  assert.deepEqual(postgresLocation('postgres://', variables), expected);
  const other = postgresLocation(
    'postgres://eve:pw@db:1/beds?sslmode=disable&connect_timeout=1',
    variables,
  );
  assert.deepEqual(other, {
    ...expected,
    hosts: [{ host: 'db', port: 1 }],
    database: 'beds',
    user: 'eve',
    password: 'pw',
    tls: { ...expected.tls, mode: 'disable' },
    connectMs: 1_000,
  });
});

test('the files of libpq are found where it has them', async (t) => {
  const home = await temporaryFolder(t);
  const folder = join(home, '.postgresql');
  mkdirSync(folder);
  for (const file of ['root.crt', 'postgresql.crt', 'postgresql.key'])
    writeFileSync(join(folder, file), '');
  const { tls, passwordFile } = postgresLocation('postgres://db?sslmode=verify-full', {
    HOME: home,
  });
  const [rootFile, certificateFile, keyFile] = ['root.crt', 'postgresql.crt', 'postgresql.key'].map(
    (file) => join(folder, file),
  );
  assert.deepEqual(tls, { mode: 'verify-full', rootFile, certificateFile, keyFile });
  assert.equal(passwordFile, join(home, '.pgpass'));
});

/** What is wrong, and what is said of it. No error may have the text `secret` in it. */
const wrong: readonly [url: string, says: RegExp, variables?: Record<string, string>][] = [
  ['postgres:ada:secret@db', /must be a URL such as postgres:\/\//],
  ['postgres://ada:secret', /must be a URL/],
  ['postgres://ada:se/secret@db/plants', /must be a URL .* need %2F for \//],
  ['postgres://ada:secret@db@secret/plants', /must be a URL .* need .*%40 for @/],
  ['postgres://ada:secret@db/plants/secret', /must be a URL/],
  ['postgres://ada:secret%zz@db/plants', /must be a URL .*%25 for %/],
  ['postgres://ada:secret%00@db/plants', /must be a URL/],
  ['postgres://ada@[::1/plants', /must be a URL/],
  ['postgres://ada@db:secret/plants', /must be a URL/],
  ['postgres://ada@db:65536/plants', /this port, which must be a whole number from 1 to 65535/],
  ['postgres://ada@a,b/plants?port=1,2,3', /names 2 hosts and 3 ports/],
  ['postgres://ada@db/plants?secret', /must be a URL/],
  [
    'postgres://ada@db/plants?password=secret&sslmod=require',
    /has the parameter sslmod, which is not supported; the supported ones: host, port/,
  ],
  [
    'postgres://ada@db/plants?gssencmode=prefer',
    /has the parameter gssencmode, which is not supported/,
  ],
  ['postgres://ada@db/plants?service=garden', /has the parameter service, which is not supported/],
  ['postgres://ada@db/plants?a1-secret=x', /has a parameter, which is not supported/],
  [
    'postgres://ada@db/plants?sslmode=secret',
    /this sslmode, which must be one of disable, allow, prefer, require, verify-ca, verify-full/,
  ],
  ['postgres://ada@db/plants', /this PGSSLMODE, which must be one of/, { PGSSLMODE: 'on' }],
  [
    'postgres://ada@db/plants?connect_timeout=0',
    /this connect_timeout, which must be a whole number from 1 to 600/,
  ],
  [
    'postgres://ada@db/plants?target_session_attrs=standby',
    /this target_session_attrs, which must be one of any, read-write, primary/,
  ],
  [
    'postgres://ada@db/plants?sslmode=verify-full',
    /needs sslrootcert=FILE with sslmode=verify-full, or sslrootcert=system/,
  ],
  [
    'postgres://ada@db/plants?sslmode=require&sslrootcert=system',
    /needs sslmode=verify-full with sslrootcert=system/,
  ],
  [
    'postgres://ada@db/plants?sslrootcert=/nonexistent/root.crt',
    /names \/nonexistent\/root.crt with sslrootcert, which does not exist/,
  ],
  [`postgres://ada@db/plants?sslcert=${certificate}`, /needs sslkey=FILE/],
  ['postgres://ada@db/plants', /does not work with PGSERVICE/, { PGSERVICE: 'garden' }],
  ['mysql://ada:secret@db/plants', /must be sqlite:PATH, or postgres:\/\//],
  ['ada:secret@db/plants', /must be sqlite:PATH, or postgres:\/\//],
  ['host=db password=secret', /must be sqlite:PATH, or postgres:\/\//],
];

describe('what is not supported is refused with the way out, and without the password', () => {
  for (const [url, says, variables] of wrong) {
    test(`${url.replace(certificate, 'FILE')} ${Object.keys(variables ?? {})}`.trimEnd(), () => {
      const parse = (argv: string[], more: Record<string, string>) => () =>
        parseCommandLine(argv, ['store'], { ...env, ...variables, ...more });
      const isRefusal = (error: unknown) => {
        assert(error instanceof UsageError);
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      };
      assert.throws(parse(['--store', url], {}), isRefusal);
      assert.throws(parse([], { PLANT_STORE_STORE: url }), isRefusal);
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
  assert.deepEqual(settings, [
    {
      name: 'store',
      value: 'postgres://a%40da@db:5433,[::1]:5433/plants',
      default: 'sqlite:data/plants.db',
      source: 'flag',
      inForce: null,
    },
  ]);
});

test('a location that is shown leads to the same place', () => {
  for (const url of Object.keys(urls)) {
    const { hosts, user, database } = postgresLocation(url, env);
    const shown = postgresLocation(postgresText(postgresLocation(url, env)), env);
    assert.deepEqual(
      { hosts: shown.hosts, user: shown.user, database: shown.database },
      { hosts, user, database },
    );
  }
});
