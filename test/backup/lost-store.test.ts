import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Check, Overview, Readiness } from '../../src/ops/contract.ts';
import { backupsIn, lose, newWorld } from '../helpers/backups.ts';
import { ask, signIn } from '../helpers/operators.ts';
import { until } from '../helpers/pause.ts';
import { create, oneThread, type RunningServer, startServer } from '../helpers/program.ts';
import { done, doneJson, on, runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore, newStore, storedPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

test('the backups of a store that was lost stay, whatever the next store backs up, and a folder with both is no choice', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  await backUp();
  const { file } = await backUp();
  lose(store);
  makeStore(store);
  const lost = [];
  for (let hour = 0; hour < 3; hour += 1) lost.push((await backUp()).warning);
  assert.match(lost[0], /^Plants are lost: of the 5 plants in \S+, the store at \S+ has 5 missing/);
  assert.match(lost[2], /^Plants are lost: plants-\S+Z\.db has 5 plants, and the store 0\. /);
  assert(backupsIn(folder).includes(basename(file)));
  assert.equal(backupsIn(folder).length, 4);
  for (const command of [
    ['restore', folder],
    ['verify', folder],
    ['verify', '--against', folder],
  ]) {
    const { code, stderr } = await runHere([...command, ...on(store)]);
    assert.match(
      stderr,
      new RegExp(
        `^${basename(file)}  \\S+Z  5 plants, of the store at \\S+:${store}, identity \\w{32}$`,
        'm',
      ),
    );
    assert.match(stderr, /Z {2}0 plants, of the store at /);
    assert.match(stderr, /the newest backup in \S+ lacks plants of earlier ones; name the file/);
    assert.equal(code, 1);
  }

  await done('restore', file, ...on(store));
  assert.equal((await backUp()).warning, undefined);
  assert.equal((await doneJson('verify', folder)).plants, 5);
});

/** Starts a service that must refuse. */
async function refusedStart(store: string, ...flags: string[]): Promise<string> {
  const { code, stderr } = await runHere(['serve', '--port', '0', ...on(store), ...flags]);
  assert.equal(code, 1, stderr);
  return stderr;
}

test('a start makes no store beside traces of an earlier one, unless it is told to, and keeps a WAL then', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  await backUp();
  const backups = ['--backup-to', folder];
  lose(store);
  const says = await refusedStart(store, ...backups);
  assert.match(
    says,
    /^plant-store: there is no store at \S+, and there was one: \S+Z\.db is a backup of it with 5 plants; mount its disk .*"plant-store restore \S+ --store \S+"; or .* --new-store yes\n$/,
  );
  assert.match(
    (await runHere(['doctor', ...on(store), ...backups])).stdout,
    /^error +schema +there is no store at \S+, and there was one/m,
  );
  const firstToken = join(dirname(store), 'first-start.token');
  writeFileSync(firstToken, '');
  assert.match(await refusedStart(store), /first-start\.token is its first token/);
  rmSync(firstToken);
  writeFileSync(store, '');
  assert.equal(await refusedStart(store, ...backups), says);
  writeFileSync(`${store}-wal`, 'frames');
  assert.match(
    await refusedStart(store),
    /plants\.db-wal is its WAL; .*"plant-store restore BACKUP /,
  );
  const saved = `${store}.saved-20261128T120000Z`;
  writeFileSync(saved, '');
  const copyIt = new RegExp(`"plant-store copy sqlite:${saved} sqlite:${store}"`);
  assert.match(await refusedStart(store, ...backups), copyIt);
  rmSync(saved);
  const { stderr, stop } = await startServer(t, store, [...oneThread, '--new-store', 'yes']);
  await stop();
  assert.match(stderr(), /"level":"warn".*"there was no store; a new store has been made"/);
  const [kept = ''] = readdirSync(dirname(store)).filter((name) => name.endsWith('Z-wal'));
  assert.equal(readFileSync(join(dirname(store), kept), 'utf8'), 'frames');
  // The decision is noted once.
  assert.equal((await backUp()).warning, undefined);
  assert.equal((await backUp()).warning, undefined);
});

/**
 * Until a service is ready, though a test write may be late, and its check of the plants has the
 * level. @returns what the check says
 */
async function readyAnd({ opsUrl }: RunningServer, level: Check['level']): Promise<string> {
  const readiness = async () => {
    const reply = await fetch(`${opsUrl}readyz`);
    const { ready, checks } = (await reply.json()) as Readiness;
    return { ready, plants: checks.find(({ name }) => name === 'plants') };
  };
  const { plants } = await until(
    readiness,
    (found) => found.ready && found.plants?.level === level,
  );
  return `${plants?.says}`;
}

test('a service tells a loss by the manifests in its folder until the plants are back, and stays ready', async (t) => {
  const store = await newStore(t, 20);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const { file } = await doneJson('backup', folder, ...on(store));
  const token = await storedToken(store, 'alice', { role: 'operate' });
  alterStore(store, 'DELETE FROM plants WHERE id > 10');
  const server = await startServer(t, store, ['--backup-to', folder, ...oneThread]);
  const says = await readyAnd(server, 'warning');
  assert.match(
    says,
    new RegExp(`^Plants are lost: ${basename(file)} has 20 plants, and the store 10\\. `),
  );
  const cookie = await signIn(server, { token });
  const { attention } = (await ask(server, 'GET api/overview', { cookie })).body as Overview;
  assert(
    attention.some((matter) => matter.says === `plants: ${says}` && matter.level === 'warning'),
  );
  const metric = async () =>
    /^plant_store_plants_lost (\d)$/m.exec(
      await (await fetch(`${server.opsUrl}metrics`)).text(),
    )?.[1];
  assert.equal(await metric(), '1');
  assert.equal((await create(server.plantsUrl, { id: 99, name: 'Yew' })).status, 200);

  // The comparison of the next backup tells, too, until one holds all.
  const backUp = async () => (await ask(server, 'POST api/backups', { cookie })).status;
  assert.equal(await backUp(), 202);
  await server.logged((text) =>
    /"level":"warn".*"warning":"Plants are lost: .*"a backup was made"/.test(text),
  );
  const line =
    /with "plant-store (export .*) \| plant-store (import .*)", and make a backup\./.exec(says);
  const exported = await done(...`${line?.[1]}`.split(' '));
  const input = () => Readable.from([exported.stdout]) as unknown as typeof process.stdin;
  await runHere(`${line?.[2]}`.split(' '), {}, { input });
  assert.equal(storedPlants(store).length, 21);
  assert.equal(await until(backUp, (status) => status === 202), 202);
  await readyAnd(server, 'ok');
  assert.equal(await metric(), '0');
});
