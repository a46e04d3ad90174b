import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { StoreError, StoreOpenError } from '../../../src/store/errors.ts';
import { openConnector } from '../../../src/store/postgres/connector.ts';
import { listenFor } from '../../helpers/free-port.ts';
import { startPostgres, startStandby } from '../../helpers/postgres.ts';
import { connectTo, locationOf, queryValue } from '../../helpers/postgres-connection.ts';
import { temporaryFolder } from '../../helpers/program.ts';

/** Who asks whom for a password. */
const rules = `
local all postgres               trust
host  all postgres  127.0.0.1/32 trust
host  all scram     127.0.0.1/32 scram-sha-256
host  all surplus   127.0.0.1/32 trust
`;
const setUp = [
  `SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'right'`,
  'CREATE ROLE surplus LOGIN CONNECTION LIMIT 0',
  `CREATE DATABASE ascii ENCODING SQL_ASCII TEMPLATE template0`,
  `CREATE DATABASE latin`,
  `ALTER DATABASE latin SET client_encoding = LATIN1`,
];

test('connections to PostgreSQL', async (t) => {
  const { server, standby } = await startServers(t);
  const here = `127.0.0.1:${server.port}`;
  const nobody = '127.0.0.1:1';

  const waysIn: Record<string, [url: string, variables?: Record<string, string>]> = {
    'through a socket': [
      `postgres:///postgres?user=postgres&host=${server.folder}&port=${server.port}`,
    ],
    'by SCRAM with the password of the URL': [`postgres://scram:right@${here}/postgres`],
    'by SCRAM with PGPASSWORD': [`postgres://scram@${here}/postgres`, { PGPASSWORD: 'right' }],
    'where TLS is preferred, and the server does not speak it': [
      `postgres://postgres@${here}/postgres?sslmode=prefer`,
    ],
    'where the first host is down': [`postgres://postgres@${nobody},${here}/postgres`],
    'where the first host is a standby': [
      `postgres://postgres@127.0.0.1:${standby.port},${here}/postgres`,
    ],
  };
  for (const [what, [url, variables]] of Object.entries(waysIn)) {
    await t.test(`there is a way in ${what}`, async (t) => {
      const port = await queryValue(await connectTo(t, url, variables), `current_setting('port')`);
      assert.equal(port, `${server.port}`);
    });
  }

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
      `postgres://postgres@${here}/postgres?sslmode=require`,
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
      const connector = openConnector(
        locationOf(`postgres://postgres@127.0.0.1:${silent},${here}/postgres`),
        2_000,
        { acceptsLostCommits: true },
      );
      for (const _ of [1, 2]) (await connector.connect()).destroy();
      assert.equal(asked, 1);
    },
  );
});

/** What a server may say that is none, or that wants something else. */
const oddAnswers: Record<
  string,
  [sslmode: string, onConnection: (socket: Socket) => unknown, says: RegExp]
> = {
  'wants Kerberos': [
    'disable',
    answer([0x52, 0, 0, 0, 8, 0, 0, 0, 7]),
    /sent a message that the client does not know: Unknown authenticationOk message type 7/,
  ],
  'says nothing': ['disable', () => undefined, /no answer within 0.3 s$/],
  'says nothing while TLS begins': ['require', answer('S'), /no answer within 0.3 s$/],
};

for (const [what, [sslmode, onConnection, says]] of Object.entries(oddAnswers)) {
  test(`a connection to a server that ${what} is refused with the reason`, async (t) => {
    const port = await listen(t, onConnection);
    const connector = openConnector(
      locationOf(`postgres://ada:secret@127.0.0.1:${port}/plants?sslmode=${sslmode}`),
      300,
      { acceptsLostCommits: true },
    );
    await assert.rejects(connector.connect(), (error: Error) => {
      // It tells doctor whether a server has answered.
      assert.equal('syscall' in Object(error.cause), error.message.includes('no answer'));
      return isUnavailable(says, false)(error);
    });
  });
}

async function startServers(t: TestContext) {
  const hba = join(await temporaryFolder(t), 'rules');
  writeFileSync(hba, rules);
  const server = await startPostgres(t, { hba_file: hba });
  for (const statement of setUp) await server.query(statement);
  return { server, standby: await startStandby(t, server) };
}

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
