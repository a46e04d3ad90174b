import assert from 'node:assert/strict';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../helpers/program.ts';
import { done, on, runHere } from '../../helpers/run-here.ts';
import { makeStore } from '../../helpers/store-file.ts';

const folder = await temporaryFolder({ after });

/**
 * A folder with `plants.db`, another store `other.db`, and the backup `backup.db`, none of them in
 * use.
 */
const quiet = join(folder, 'quiet');
mkdirSync(quiet);
for (const name of ['plants.db', 'other.db']) makeStore(join(quiet, name), 3);
await done('backup', join(quiet, 'backup.db'), ...on(join(quiet, 'plants.db')));

/** A store in use: its log and the index of its log are there. */
const busy = join(folder, 'busy');
mkdirSync(busy);
makeStore(join(busy, 'plants.db'), 3);
const user = new DatabaseSync(join(busy, 'plants.db'));
user.exec("INSERT INTO plants VALUES (4, 'only in the log', NULL, 1000, 0)");
after(() => user.close());
writeFileSync(join(busy, 'first-start.token'), 'ps_secret\n');

const says =
  /^plant-store: .* (belongs to|is a store, a backup|is where a store keeps its first token).* no command writes over it; choose another name\n$/;

/** Runs a command that must refuse before it writes something. */
async function refused(args: readonly string[], because = says, code = 1): Promise<void> {
  const before = contents();
  const ended = await runHere(args);
  assert.match(ended.stderr, because, args.join(' '));
  assert.equal(ended.code, code);
  assert.deepEqual(contents(), before, args.join(' '));
}

/**
 * Which files both folders have, and how large they are. To read and close one would end the locks
 * of this process on it (fcntl(2)).
 */
function contents(): (readonly [name: string, inode: number, bytes: number])[] {
  const files = [quiet, busy].flatMap((one) => readdirSync(one).map((name) => join(one, name)));
  return files.map((file) => [file, lstatSync(file).ino, lstatSync(file).size] as const);
}

const endings = ['-wal', '-shm', '-journal'];
const ofTheStore = ['plants.db', ...endings.map((end) => `plants.db${end}`), 'first-start.token'];

test('an export writes to no file of the store that it reads, whatever that file is called', async () => {
  const store = on(join(busy, 'plants.db'));
  const links = join(folder, 'links');
  mkdirSync(links);
  symlinkSync(busy, join(links, 'folder'));
  for (const name of ofTheStore) {
    const names = [
      join(busy, name),
      join(links, 'folder', name),
      join(links, `${name}.soft`),
      join(links, `${name}.hard`),
    ];
    symlinkSync(join(busy, name), join(links, `${name}.soft`));
    if (existsSync(join(busy, name))) linkSync(join(busy, name), join(links, `${name}.hard`));
    for (const path of names) {
      if (!existsSync(path) && path.endsWith('.hard')) continue;
      await refused(['export', path, '--format', 'csv', '--overwrite', ...store]);
      await refused(['export', path, '--format', 'csv', ...store]);
    }
  }
});

test('an export replaces no other store, no backup, and nothing that belongs to one', async () => {
  const others = ['other.db', ...endings.map((end) => `other.db${end}`), 'first-start.token'];
  const flags = ['--format', 'ndjson', '--overwrite', ...on(join(busy, 'plants.db'))];
  for (const name of [...others, 'backup.db', 'backup.db.manifest.json'])
    await refused(['export', join(quiet, name), ...flags]);
  const log = join(folder, 'log.csv');
  linkSync(join(busy, 'plants.db-wal'), log);
  await refused(['export', log, '--overwrite', ...on(join(quiet, 'plants.db'))]);
});

test('no backup comes to be a file of a store', async () => {
  for (const name of ['plants.db-wal', 'plants.db-journal', 'other.db-wal', 'first-start.token'])
    await refused(['backup', join(quiet, name), ...on(join(quiet, 'plants.db'))]);
});

test('two names of one file are one store', async () => {
  const [soft, hard] = [join(folder, 'soft.db'), join(folder, 'hard.db')];
  symlinkSync(join(quiet, 'plants.db'), soft);
  linkSync(join(quiet, 'plants.db'), hard);
  for (const name of [join(quiet, 'plants.db'), soft, hard]) {
    const args = ['copy', `sqlite:${join(quiet, 'plants.db')}`, `sqlite:${name}`];
    await refused(args, /^plant-store: FROM and TO are the same store\n$/, 2);
  }
  await refused(
    ['restore', hard, '--overwrite', ...on(join(quiet, 'plants.db'))],
    /hard\.db is the store itself\n$/,
  );
});

test('no store is made, restored or copied where a file of another belongs', async () => {
  const backup = join(quiet, 'backup.db');
  const link = join(folder, 'link-to-log.db');
  symlinkSync(join(quiet, 'plants.db-wal'), link);
  const names = [...ofTheStore.slice(1), 'plants.db-sync', 'backup.db.manifest.json'];
  for (const path of [...names.map((name) => join(quiet, name)), link]) {
    const because =
      /^plant-store: (--store|TO) must not name a file that belongs to a store: .*; it is "sqlite:/;
    await refused(['restore', backup, '--store', `sqlite:${path}`, '--overwrite'], because, 2);
    await refused(['copy', `sqlite:${backup}`, `sqlite:${path}`], because, 2);
    await refused(['serve', '--store', `sqlite:${path}`], because, 2);
  }
});
