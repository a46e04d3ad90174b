import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreOpenError } from '../../../src/store/errors.ts';
import { makeAuthority, withoutOpenssl } from '../../helpers/certificates.ts';
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts';
import { connectTo, queryValue } from '../../helpers/postgres-connection.ts';
import { type Owner, temporaryFolder } from '../../helpers/program.ts';

/** All but `postgres` may come in one way only. */
const rules = `
local     all all       trust
host      all postgres  127.0.0.1/32 trust
hostssl   all encrypted 127.0.0.1/32 trust
hostnossl all plain     127.0.0.1/32 trust
hostssl   all certified 127.0.0.1/32 cert
hostssl   all scram     127.0.0.1/32 scram-sha-256
`;
const roles = `SET password_encryption = 'scram-sha-256'; CREATE ROLE encrypted LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE certified LOGIN; CREATE ROLE scram LOGIN PASSWORD 'right'`;

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

test('TLS to PostgreSQL', { skip: withoutOpenssl() }, async (t) => {
  const folder = await temporaryFolder(t);
  const server = await startTlsServer(t, folder);
  const urlOf = (who: string, parameters: string) => {
    const at = who.replace('SOCKET', encodeURIComponent(server.folder));
    return `postgres://${at}:${server.port}/postgres?${parameters.replaceAll('@', `${folder}/`)}`;
  };

  for (const [who, parameters, outcome] of ways) {
    await t.test(
      `${who} with ${parameters} is ${outcome instanceof RegExp ? 'refused' : outcome}`,
      async (t) => {
        const connection = connectTo(t, urlOf(who, parameters));
        if (outcome instanceof RegExp) return assert.rejects(connection, isForGood(outcome));
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

/** With the certificates of two authorities in the folder, of which it trusts one. */
async function startTlsServer(t: Owner, folder: string): Promise<PostgresServer> {
  const [own, other] = [makeAuthority(folder, 'own'), makeAuthority(folder, 'other')];
  const { certificate, key } = own.issue('localhost', ['-addext', 'subjectAltName=DNS:localhost']);
  for (const authority of [own, other]) authority.issue('certified');
  writeFileSync(join(folder, 'rules'), rules);
  const settings = {
    ssl: 'on',
    ssl_cert_file: certificate,
    ssl_key_file: key,
    ssl_ca_file: own.root,
    hba_file: join(folder, 'rules'),
  };
  const server = await startPostgres(t, settings);
  await server.query(roles);
  return server;
}

/** Whether it says so, and that waiting will not help. */
function isForGood(says: RegExp): (error: Error) => boolean {
  return (error) => says.test(error.message) && error.cause instanceof StoreOpenError;
}
