import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../../src/limits.ts';
import { StoreError, StoreOpenError } from '../../../src/store/errors.ts';
import { openConnector } from '../../../src/store/postgres/connector.ts';
import { openPool, type Pool } from '../../../src/store/postgres/pool.ts';
import { joinPostgresStore, openPostgresStore } from '../../../src/store/postgres/store.ts';
import type { Query } from '../../../src/store/postgres/transaction.ts';
import { makeAuthority, withoutOpenssl } from '../../helpers/certificates.ts';
import { listenFor } from '../../helpers/free-port.ts';
import { until } from '../../helpers/pause.ts';
import { nameOfDatabase, sharedPostgres, startPostgres } from '../../helpers/postgres.ts';
import { connectTo, locationOf, queryValue, withinMs } from '../../helpers/postgres-connection.ts';
import { temporaryFolder } from '../../helpers/program.ts';
import { skipVisibly } from '../../helpers/skips.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';

/** Who comes in which way, and who is asked for a password. */
const rules = `
local     all all       trust
host      all postgres,surplus,limited,idler 127.0.0.1/32 trust
host      all scram     127.0.0.1/32 scram-sha-256
hostssl   all encrypted 127.0.0.1/32 trust
hostnossl all plain     127.0.0.1/32 trust
hostssl   all certified 127.0.0.1/32 cert
`;
const setUp = [
  `SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'right';
    CREATE ROLE encrypted LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE certified LOGIN;
    CREATE ROLE surplus LOGIN CONNECTION LIMIT 0`,
  `CREATE DATABASE ascii ENCODING SQL_ASCII TEMPLATE template0`,
  `CREATE DATABASE latin`,
  `ALTER DATABASE latin SET client_encoding = LATIN1`,
];

/** Of the certificates of two authorities, of which the server trusts one. */
const folder = await temporaryFolder({ after });
const lacksOpenssl = withoutOpenssl();
const server = await startServer();
const here = `127.0.0.1:${server.port}`;
const withoutTls = `127.0.0.1:${(await sharedPostgres({ after })).port}`;

async function startServer() {
  writeFileSync(join(folder, 'rules'), rules);
  const server = await startPostgres(
    { after },
    { ...tlsSettings(), hba_file: join(folder, 'rules') },
  );
  for (const statement of setUp) await server.query(statement);
  return server;
}

function tlsSettings() {
  if (lacksOpenssl) return {};
  const [own, other] = [makeAuthority(folder, 'own'), makeAuthority(folder, 'other')];
  const { certificate, key } = own.issue('localhost', ['-addext', 'subjectAltName=DNS:localhost']);
  for (const authority of [own, other]) authority.issue('certified');
  return { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key, ssl_ca_file: own.root };
}

test('connections to PostgreSQL', async (t) => {
  const nobody = '127.0.0.1:1';

  const waysIn: Record<string, [url: string, variables?: Record<string, string>]> = {
    'through a socket': [
      `postgres:///postgres?user=postgres&host=${server.folder}&port=${server.port}`,
    ],
    'by SCRAM with the password of the URL': [`postgres://scram:right@${here}/postgres`],
    'by SCRAM with PGPASSWORD': [`postgres://scram@${here}/postgres`, { PGPASSWORD: 'right' }],
    'where the first host is down': [`postgres://postgres@${nobody},${here}/postgres`],
  };
  for (const [what, [url, variables]] of Object.entries(waysIn)) {
    await t.test(`there is a way in ${what}`, async (t) => {
      const port = await queryValue(await connectTo(t, url, variables), `current_setting('port')`);
      assert.equal(port, `${server.port}`);
    });
  }

  await t.test(
    'there is a way in where TLS is preferred, and the server does not speak it',
    async (t) => {
      await connectTo(t, `postgres://postgres@${withoutTls}/postgres?sslmode=prefer`);
    },
  );

  const refusals: Record<string, [url: string, says: RegExp, isForGood: boolean]> = {
    'with a wrong password': [
      `postgres://scram:secret@${here}/postgres`,
      /password authentication failed for user "scram"/,
      true,
    ],
    'without the password it asks for': [
      `postgres://scram@${here}/postgres`,
      /asks for a password, .*PGPASSWORD.*\.pgpass/,
      true,
    ],
    'to a database without UTF-8': [
      `postgres://postgres@${here}/ascii`,
      /encoding SQL_ASCII; make one with CREATE DATABASE/,
      true,
    ],
    'with TLS, which it does not speak': [
      `postgres://postgres@${withoutTls}/postgres?sslmode=require`,
      /does not speak TLS/,
      true,
    ],
    'to sessions that only read': [
      `postgres://postgres@${here}/postgres?options=-cdefault_transaction_read_only=on`,
      /is read-only/,
      false,
    ],
    'of a role with too many': [
      `postgres://surplus@${here}/postgres`,
      /too many connections for role "surplus"; each thread of each node needs one: .*CONNECTION LIMIT/,
      false,
    ],
    'to any of several hosts': [
      `postgres://x@${nobody},${here}/y`,
      /: 127\.0\.0\.1 port 1: connect ECONN.*; 127\.0\.0\.1 port [0-9]+: no pg_hba/,
      true,
    ],
  };
  for (const [what, [url, says, isForGood]] of Object.entries(refusals)) {
    await t.test(`a connection ${what} is refused with the reason`, async (t) => {
      await assert.rejects(connectTo(t, url), isUnavailable(says, isForGood));
    });
  }

  await t.test('a transaction has its bounds, and reads what it is told as UTF-8', async (t) => {
    const connection = await connectTo(
      t,
      `postgres://postgres@${here}/latin?options=-csearch_path=beds%20-csynchronous_commit=off&application_name=garden`,
    );
    const names = [
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'client_encoding',
      'search_path',
      'synchronous_commit',
      'application_name',
    ];
    const values = await queryValue(
      connection,
      `ARRAY[${names.map((name) => `current_setting('${name}')`)}]`,
    );
    assert.deepEqual(values, ['70s', '5s', 'UTF8', 'beds, pg_temp', 'on', 'garden']);
  });

  await t.test(
    'a host that does not answer leaves time for the next host, and is not asked again while another host answers',
    async (t) => {
      let asked = 0;
      const silent = await listen(t, () => (asked += 1));
      const location = locationOf(`postgres://postgres@127.0.0.1:${silent},${here}/postgres`);
      // One host alone may take all of it.
      const callMs = 6_000;
      const connector = openConnector({ ...location, connectMs: callMs }, callMs, {
        acceptsLostCommits: true,
      });
      for (const _ of [1, 2]) (await connector.connect()).destroy();
      assert.equal(asked, 1);
    },
  );
});

/** What a server may say that is none, or that wants something else. */
const oddAnswers: Record<
  string,
  [sslmode: string, callMs: number, onConnection: (socket: Socket) => unknown, says: RegExp]
> = {
  'wants Kerberos': [
    'disable',
    withinMs,
    answer([0x52, 0, 0, 0, 8, 0, 0, 0, 7]),
    /sent a message that the client does not know: Unknown authenticationOk message type 7/,
  ],
  'says nothing': ['disable', 300, () => undefined, /no answer within 0.3 s$/],
  'says nothing while TLS begins': ['require', 300, answer('S'), /no answer within 0.3 s$/],
};

for (const [what, [sslmode, callMs, onConnection, says]] of Object.entries(oddAnswers)) {
  test(`a connection to a server that ${what} is refused with the reason`, async (t) => {
    const port = await listen(t, onConnection);
    const connector = openConnector(
      locationOf(`postgres://ada:secret@127.0.0.1:${port}/plants?sslmode=${sslmode}`),
      callMs,
      { acceptsLostCommits: true },
    );
    await assert.rejects(connector.connect(), (error: Error) => {
      // It tells doctor whether a server has answered.
      assert.equal('syscall' in Object(error.cause), error.message.includes('no answer'));
      return isUnavailable(says, false)(error);
    });
  });
}

const untrusted =
  /TLS: self-signed certificate in certificate chain \(see sslmode, sslrootcert, sslcert and sslkey\)/;

/**
 * Who comes from where, and with which parameters, in which @ is the folder of the certificates.
 */
const ways: readonly (readonly [
  who: string,
  parameters: string,
  outcome: 'encrypted' | 'plain' | RegExp,
])[] = [
  ['postgres@127.0.0.1', 'sslmode=disable', 'plain'],
  ['postgres@127.0.0.1', 'sslmode=require', 'encrypted'],
  ['postgres@SOCKET', 'sslmode=require', 'plain'],

  ['encrypted@127.0.0.1', 'sslmode=disable', /no pg_hba\.conf entry .*(no encryption|SSL off)/],
  ['plain@127.0.0.1', 'sslmode=require', /no pg_hba\.conf entry .*(SSL encryption|SSL on)/],
  ['scram:right@127.0.0.1', 'sslmode=prefer', 'encrypted'],

  ['postgres@127.0.0.1', 'sslmode=require&sslrootcert=@other.crt', untrusted],
  ['postgres@127.0.0.1', 'sslmode=verify-ca&sslrootcert=@own.crt', 'encrypted'],
  ['postgres@127.0.0.1', 'sslmode=verify-ca&sslrootcert=@other.crt', untrusted],
  [
    'postgres@127.0.0.1',
    'sslmode=verify-full&sslrootcert=@own.crt',
    /TLS: IP: 127\.0\.0\.1 is not in the cert's list/,
  ],
  ['postgres@localhost', 'sslmode=verify-full&sslrootcert=@own.crt', 'encrypted'],
  ['postgres@localhost', 'sslrootcert=system', untrusted],

  ['certified@127.0.0.1', 'sslmode=require', /connection requires a valid client certificate/],
  [
    'certified@127.0.0.1',
    'sslmode=require&sslcert=@own-certified.crt&sslkey=@own-certified.key',
    'encrypted',
  ],
  [
    'certified@127.0.0.1',
    'sslmode=require&sslcert=@other-certified.crt&sslkey=@other-certified.key',
    /TLS: .*unknown ca/,
  ],
];

test('TLS to PostgreSQL', { skip: lacksOpenssl }, async (t) => {
  const urlOf = (who: string, parameters: string) => {
    const at = who.replace('SOCKET', encodeURIComponent(server.folder));
    return `postgres://${at}:${server.port}/postgres?${parameters.replaceAll('@', `${folder}/`)}`;
  };

  for (const [who, parameters, outcome] of ways) {
    await t.test(
      `${who} with ${parameters} is ${outcome instanceof RegExp ? 'refused' : outcome}`,
      async (t) => {
        const connection = connectTo(t, urlOf(who, parameters));
        if (outcome instanceof RegExp)
          return assert.rejects(connection, isUnavailable(outcome, true));
        assert.equal(await queryValue(await connection, isEncrypted), outcome === 'encrypted');
      },
    );
  }

  await t.test('work that is given up rejects at once, and the server ends it', async (t) => {
    const url = urlOf('postgres@127.0.0.1', 'sslmode=require');
    const [connection, other] = [await connectTo(t, url), await connectTo(t, url)];
    await connection.client.query('SELECT pg_advisory_lock(1)');
    const query = connection.client.query('SELECT pg_sleep(60)');
    connection.giveUp();
    await assert.rejects(query, /terminated/);
    assert(connection.isClosed);
    await other.client.query('SELECT pg_advisory_lock(1)');
  });
});

const isEncrypted = '(SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())';

// A busy machine takes its time.
const options = { callMs: 60_000, acceptsLostCommits: false };

/** The URL of a new database, for a role that may open so many connections. */
async function databaseOf(role: string, connectionsMax: number): Promise<URL> {
  const url = new URL(await server.makeDatabase());
  await server.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT ${connectionsMax};
    ALTER DATABASE ${nameOfDatabase(`${url}`)} OWNER TO ${role}`);
  url.username = role;
  return url;
}

function poolOn(t: TestContext, url: string): Pool {
  const pool = openPool(openConnector(locationOf(url), withinMs, { acceptsLostCommits: true }), 2);
  t.after(() => pool.close());
  return pool;
}

async function processOf(pool: Pool): Promise<number> {
  return pool.run(async (query) => (await query('SELECT pg_backend_pid()')).rows[0]?.[0]);
}

/** As a thread that computes until then: what arrives meanwhile is read later. */
function blockEventLoopUntil(isSo: () => boolean): void {
  const still = new Int32Array(new SharedArrayBuffer(4));
  for (let turns = 1; !isSo(); turns += 1) {
    assert(turns < 3_000, 'not within a minute');
    Atomics.wait(still, 0, 0, 20);
  }
}

function hasEnded(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

test('three threads create plants with the three connections that their role may open', async (t) => {
  const location = locationOf(`${await databaseOf('limited', 3)}`);
  await using store = await openPostgresStore(location, { ...options, mayMake: true });
  const shares = [1, 2].map(() => store.share(new Worker('', { eval: true })));
  const others = shares.map((share) => joinPostgresStore(location, share, options));
  t.after(() => Promise.all(others.map((other) => other.close())));
  let id = 0n;
  const createSome = async (thread: typeof store | (typeof others)[0]) => {
    for (let count = 0; count < 20; count += 1)
      await thread.createPlants([{ id: (id += 1n), name: 'Alder', tag: undefined, createdBy: 0 }]);
  };
  const threads = [store, ...others];
  await Promise.all([...threads, ...threads, ...threads].map(createSome));
  const refusals = server.log().match(/too many connections for role "limited"/g);
  assert(refusals !== null && refusals.length < 20, `${refusals?.length} refusals`);
});

test('a statement is sent again after the server has ended the session for its idle time', async (t) => {
  const [known] = await server.query("SELECT FROM pg_settings WHERE name = 'idle_session_timeout'");
  if (known === undefined) return skipVisibly(t, 'PostgreSQL 13 has no idle_session_timeout');
  const url = await databaseOf('idler', -1);
  await server.query("ALTER ROLE idler SET idle_session_timeout = '50ms'");
  const pool = poolOn(t, `${url}`);
  const first = await processOf(pool);
  blockEventLoopUntil(() => hasEnded(first));
  assert.notEqual(await processOf(pool), first);
});

test('a connection that has not been needed for a time is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const pool = poolOn(t, `postgres://postgres@${here}/postgres`);
  const both = await Promise.all([processOf(pool), processOf(pool)]);
  t.mock.timers.tick(limits.postgres.connectionIdleMs);
  const needed = await processOf(pool);
  t.mock.timers.tick(limits.postgres.connectionIdleMs);
  const open = `SELECT pid FROM pg_stat_activity WHERE pid IN (${both})`;
  await until(
    () => server.query(open),
    ({ length }) => length === 1,
  );
  assert.deepEqual(await server.query(open), [{ pid: needed }]);
});

test('another connection takes the place of an old one, before work needs the new one', async (t) => {
  const url = `postgres://postgres@${here}/postgres?application_name=aged`;
  const pool = poolOn(t, url);
  const first = await processOf(pool);
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + limits.postgres.connectionAgeMs);
  assert.equal(await processOf(pool), first);
  const open = "SELECT pid FROM pg_stat_activity WHERE application_name = 'aged'";
  const [found] = await until(
    () => server.query(open),
    ([one]) => one !== undefined && one['pid'] !== first,
  );
  assert.equal(await processOf(pool), found?.['pid']);
});

test('a statement is sent again after a reset that came before', async (t) => {
  const proxy = await startProxy(t, server.port);
  const pool = poolOn(t, `postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
  const answer = () => pool.run(async (query) => (await query('SELECT 42')).rows);
  assert.deepEqual(await answer(), [[42]]);
  proxy.reset();
  assert.deepEqual(await answer(), [[42]]);
});

test('work that refuses something ends no session', async (t) => {
  const pool = poolOn(t, `postgres://postgres@${here}/postgres`);
  const first = await processOf(pool);
  const refuse = () => Promise.reject(new StoreError('unavailable', 'too few standbys'));
  await assert.rejects(pool.run(refuse), /too few standbys/);
  assert.equal(await processOf(pool), first);
});

test('a statement is not sent again after its session was ended, because it may have run', async (t) => {
  const pool = poolOn(t, `postgres://postgres@${here}/postgres`);
  let runs = 0;
  const work = async (query: Query) => {
    runs += 1;
    return query('SELECT pg_terminate_backend(pg_backend_pid())');
  };
  await assert.rejects(pool.run(work), /terminating connection/);
  assert.equal(runs, 1);
});

/** A server of its own that ends with the test. @returns its port */
async function listen(t: TestContext, onConnection: (socket: Socket) => unknown): Promise<number> {
  const server = createServer((socket) => {
    // The client may cut the connection at any time.
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  return listenFor(t, server);
}

function answer(bytes: readonly number[] | string): (socket: Socket) => void {
  return (socket) => socket.once('data', () => socket.write(Buffer.from(bytes as string)));
}

function isUnavailable(says: RegExp, isForGood: boolean): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof StoreError);
    assert.equal(error.failure, 'unavailable');
    assert.match(error.message, says);
    assert.doesNotMatch(error.message, /secret/);
    assert.equal(error.cause instanceof StoreOpenError, isForGood, String(error.cause));
    return true;
  };
}
