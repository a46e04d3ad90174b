import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { examineWalOf, openForWriting } from '../../src/store/sqlite/database.ts';
import { create, oneThread, startServer, storePath } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { storedPlants } from '../helpers/store-file.ts';

const headerBytes = 32;
const frameBytes = 24 + 4_096;

interface Files {
  readonly database: Buffer;
  readonly wal: Buffer;
}

interface Made extends Files {
  /** For each transaction, the frame that ends it. */
  readonly ends: readonly number[];
}

/** The files of a store after a power cut, with one plant for each transaction in its WAL. */
async function makeFiles(transactions: number): Promise<Made> {
  const folders: (() => void)[] = [];
  const path = await storePath({ after: (remove) => void folders.push(remove as () => void) });
  const { db } = openForWriting(path, true);
  // The schema goes into the file, and the WAL begins again.
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const insert = db.prepare('INSERT INTO plants VALUES (?, ?, NULL, 1000, 0)');
  const ends = Array.from({ length: transactions }, (_, index) => {
    // Each second transaction has two frames, because its plant takes more than a page.
    insert.run(index, index % 2 ? 'leaf '.repeat(1_000) : 'leaf');
    return Number(db.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.['log']) - 1;
  });
  const files = { database: readFileSync(path), wal: readFileSync(`${path}-wal`), ends };
  db.close();
  for (const remove of folders) remove();
  return files;
}

function write(path: string, { database, wal }: Files): void {
  for (const ending of ['-shm', '-wal']) rmSync(path + ending, { force: true });
  writeFileSync(path, database);
  writeFileSync(`${path}-wal`, wal);
}

function flipped(bytes: Buffer, offset: number): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[offset] = (damaged[offset] ?? 0) ^ 1;
  return damaged;
}

test('each damaged frame is told from the transactions that end behind it', async (t) => {
  const made = await makeFiles(12);
  const path = await storePath(t);
  const frames = (made.ends.at(-1) ?? 0) + 1;
  assert(frames > 12);
  for (let frame = 0; frame < frames; frame += 1) {
    // Its page number, its salt, its checksum, and its page.
    for (const offset of [3, 8, 23, 24, frameBytes - 1]) {
      write(path, { ...made, wal: flipped(made.wal, headerBytes + frame * frameBytes + offset) });
      const found = examineWalOf(path)?.transactions ?? 0;
      // A frame with another salt does not count as a frame of the WAL.
      const isEnd = made.ends.includes(frame);
      const lost = made.ends.filter((end) => end >= frame).length;
      assert.equal(
        found,
        offset === 8 && isEnd ? lost - 1 : lost,
        `frame ${frame}, byte ${offset}`,
      );
    }
  }
  for (const file of readdirSync(dirname(path)).filter((name) => name.includes('damaged')))
    rmSync(join(dirname(path), file));
});

test('a WAL that ends anywhere, as after a kill or a power cut, is no damage', async (t) => {
  const made = await makeFiles(6);
  const path = await storePath(t);
  for (let length = 0; length <= made.wal.length; length += 509) {
    write(path, { ...made, wal: made.wal.subarray(0, length) });
    assert.equal(examineWalOf(path), undefined, `${length} bytes`);
  }
});

test('frames of an earlier WAL behind the end are no damage', async (t) => {
  const path = await storePath(t);
  const { db } = openForWriting(path, true);
  const insert = db.prepare("INSERT INTO plants VALUES (?, 'leaf', NULL, 1000, 0)");
  for (let id = 0; id < 9; id += 1) insert.run(id);
  db.exec('PRAGMA wal_checkpoint(RESTART)');
  insert.run(9);
  const files = { database: readFileSync(path), wal: readFileSync(`${path}-wal`) };
  db.close();
  write(path, files);
  assert.equal(examineWalOf(path), undefined);
});

test('a damaged header of the WAL is told, too', async (t) => {
  const made = await makeFiles(5);
  const path = await storePath(t);
  for (let offset = 0; offset < headerBytes; offset += 1) {
    write(path, { ...made, wal: flipped(made.wal, offset) });
    assert.equal(examineWalOf(path)?.transactions, 5, `byte ${offset}`);
  }
});

test('a service says that its WAL was damaged, keeps the damaged WAL, and starts', async (t) => {
  const path = await storePath(t);
  const made = await makeFiles(5);
  const damaged = flipped(made.wal, headerBytes + (made.ends[2] ?? 0) * frameBytes + 100);
  write(path, { ...made, wal: damaged });

  const server = await startServer(t, path, oneThread);
  assert.match(
    server.stderr(),
    /"level":"error".*"transactions":3,"keptPath":"[^"]*-wal\.damaged-[^"]*".*the WAL is damaged/,
  );
  assert.equal((await create(server.plantsUrl, { id: 4, name: 'leaf' })).status, 200);
  await server.stop();
  assert.deepEqual(
    storedPlants(path).map(([id]) => id),
    [0n, 1n, 4n],
  );

  const kept = /"keptPath":"([^"]*)"/.exec(server.stderr())?.[1] ?? '';
  assert.deepEqual(readFileSync(kept), damaged);
  const doctor = () => runHere(['doctor', '--store', `sqlite:${path}`]);
  assert.match((await doctor()).stdout, /^warning +damaged log .*-wal\.damaged-.*may be missing/m);
  const again = await startServer(t, path, oneThread);
  assert.match(again.stderr(), /"level":"warn".*"check":"damaged log"/);
  await again.stop();
  rmSync(kept);
  assert.doesNotMatch((await doctor()).stdout, /damaged log/);
});

test('a last transaction that cannot be read is a warning, because a power cut may have ended it', async (t) => {
  const path = await storePath(t);
  const made = await makeFiles(4);
  write(path, { ...made, wal: flipped(made.wal, made.wal.length - 1) });
  const server = await startServer(t, path, oneThread);
  assert.match(server.stderr(), /"level":"warn".*"transactions":1,"msg":"the last transaction/);
  await server.stop();
  assert.equal(storedPlants(path).length, 3);
});

test('a command that writes keeps a damaged WAL, too', async (t) => {
  const path = await storePath(t);
  const made = await makeFiles(5);
  write(path, { ...made, wal: flipped(made.wal, headerBytes + 100) });
  assert.equal((await runHere(['token', 'create', 'app', '--store', `sqlite:${path}`])).code, 0);
  const kept = readdirSync(dirname(path)).filter((name) => name.includes('-wal.damaged-'));
  assert.equal(kept.length, 1);
  copyFileSync(join(dirname(path), kept[0] ?? ''), `${path}.copy`);
  using db = new DatabaseSync(path, { readOnly: true });
  assert.equal(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n'], 0);
});
