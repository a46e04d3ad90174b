import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import { create, oneThread, startServer } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

/** What goes on until something is so fails by this. */
const timeout = 30_000;

const server = await startPostgres({ after });

interface Diagnosis {
  readonly code: number | null;
  /** What each line says, its level first, by the name of the check. */
  readonly lines: Readonly<Record<string, string>>;
}

async function diagnose(url: string): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runHere(['doctor', '--json', '--store', url]);
  assert.equal(stderr, '');
  const found = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return {
    code,
    lines: Object.fromEntries(found.map(({ check, level, says }) => [check, `${level} ${says}`])),
  };
}

/** A new database whose owner is a role of its own, without further rights. */
async function databaseOf(role: string): Promise<string> {
  const url = await server.makeDatabase();
  await server.query(`CREATE ROLE ${role} LOGIN`);
  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} OWNER TO ${role}`);
  return url.replace('//postgres@', `//${role}@`);
}

/** Of a machine and its operator: these lines may be warnings for a sound store. */
const ofMachine = ['user'];

test('doctor reads back what is in force in a database while a service runs on it', async (t) => {
  const url = await databaseOf('gardener');
  const { plantsUrl } = await startServer(t, url, oneThread);
  for (const id of [-3, 8])
    assert.equal((await create(plantsUrl, { id, name: 'Alder' })).status, 200);

  const { code, lines } = await diagnose(url);

  assert.equal(code, 0);
  for (const [name, line] of Object.entries(lines))
    assert.match(line, ofMachine.includes(name) ? /^(ok|warning) / : /^ok /, name);
  assert.match(
    lines['connection'] ?? '',
    /^ok to PostgreSQL \d+\.\d+ at 127\.0\.0\.1:\d+ in \d+\.\d ms; a round trip takes \d+\.\d\d ms$/,
  );
  assert.equal(lines['encryption'], 'ok none; the server is on this machine');
  assert.equal(
    lines['durability'],
    'ok each plant is on the disk of the server before it is acknowledged; a standby that takes over may lack the last ones',
  );
  assert.match(
    lines['connections'] ?? '',
    /^ok \d+ of 97 are open; a node on a machine like this opens up to \d+$/,
  );
  assert.equal(lines['role'], 'ok gardener has the privileges that the service needs');
  assert.equal(lines['schema'], 'ok a plant store, schema 10');
});

test('doctor says which privilege a role lacks, and that a superuser is too much', {
  timeout,
}, async (t) => {
  const url = await databaseOf('owner');
  await makeStore(url);
  await server.query('CREATE ROLE helper LOGIN');
  const asHelper = url.replace('//owner', '//helper');
  const change = (text: string) => server.query(text, nameOfDatabase(url));

  const { code, lines } = await diagnose(asHelper);
  assert.equal(code, 1);
  assert.equal(
    lines['role'],
    'error helper lacks privileges that the service needs; GRANT SELECT, UPDATE ON plant_store TO helper',
  );

  for (
    let { role = '' } = lines;
    role.startsWith('error');
    { role = '' } = (await diagnose(asHelper)).lines
  ) {
    await change(/GRANT .* ON .* TO helper/.exec(role)?.[0] ?? assert.fail(role));
  }
  assert.equal(
    (await diagnose(asHelper)).lines['role'],
    'ok helper has the privileges that the service needs',
  );
  const node = await startServer(t, asHelper, oneThread);
  assert.equal((await create(node.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const made = await runHere([
    'token',
    'create',
    'alice',
    '--role',
    'operate',
    '--store',
    asHelper,
  ]);
  const signedIn = await fetch(`${node.opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: made.stdout.trim() }),
  });
  assert.equal(signedIn.status, 200);
  assert.equal((await runHere(['token', 'revoke', 'alice', '--store', asHelper])).code, 0);

  assert.match(
    (await diagnose(url.replace('//owner', '//postgres'))).lines['role'] ?? '',
    /^warning postgres is a superuser/,
  );
});

test('doctor says what is wrong with the durability of a database, and ends with 1', async () => {
  const url = await databaseOf('hasty');
  await server.set('fsync', 'off');
  const { code, lines } = await diagnose(url);
  await server.set('fsync', 'on');
  assert.equal(code, 1);
  assert.match(
    lines['durability'] ?? '',
    /^error with fsync=off, a crash of the machine .* --accept-lost-commits$/,
  );
});
