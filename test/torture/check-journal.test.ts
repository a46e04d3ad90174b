import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../helpers/program.ts';
import { type CheckReport, checkJournal, type JournalEntry } from './check-journal.ts';

const alder = { id: '9223372036854775807', name: 'Alder', tag: 'Alnus' };
const oak = { id: '-5', name: 'Oak' };
type Row = readonly [id: string, name: string, tag: string | null];
const alderRow: Row = [alder.id, 'Alder', 'Alnus'];
const oakRow: Row = [oak.id, 'Oak', null];

const sent = (
  n: number,
  plant: { id: string; name: string; tag?: string },
  storable = true,
): JournalEntry => ({
  n,
  sent: plant,
  storable,
});
const answered = (n: number, { name, tag }: { name: string; tag?: string }): JournalEntry => ({
  n,
  status: 200,
  body: JSON.stringify({ name, tag }),
});
const refused = (n: number, status: number, error: number): JournalEntry => ({
  n,
  status,
  body: JSON.stringify({ error, message: 'no' }),
});
const lost = (n: number): JournalEntry => ({ n, lost: true });

async function check(
  t: TestContext,
  rows: readonly Row[],
  entries: readonly JournalEntry[],
): Promise<CheckReport> {
  return checkJournal(...(await storeAndJournal(t, rows, entries)));
}

async function storeAndJournal(
  t: TestContext,
  rows: readonly Row[],
  entries: readonly JournalEntry[],
): Promise<[string, string]> {
  const folder = await temporaryFolder(t);
  const [store, journal] = [join(folder, 'plants.db'), join(folder, 'journal.ndjson')];
  using db = new DatabaseSync(store);
  db.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
  const insert = db.prepare('INSERT INTO plants VALUES (?, ?, ?)');
  insert.setReadBigInts(true);
  db.exec('BEGIN');
  for (const [id, name, tag] of rows) insert.run(BigInt(id), name, tag);
  db.exec('COMMIT');
  writeFileSync(journal, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return [store, journal];
}

test('the check finds nothing in a store that holds what was acknowledged, retried, in conflict or unknown', async (t) => {
  const entries = [
    ...[sent(1, alder), answered(1, alder), sent(2, alder), answered(2, alder)],
    ...[sent(3, { ...alder, name: 'Elder' }), refused(3, 400, 40004)],
    ...[sent(4, oak), lost(4)],
    ...[
      sent(5, { id: '7', name: 'Ash' }),
      lost(5),
      sent(6, { id: '8', name: 'Bay' }, false),
      refused(6, 401, 40101),
    ],
    sent(7, { id: '9', name: 'Box' }),
  ];

  const { violations, counts } = await check(t, [alderRow, oakRow], entries);

  assert.deepEqual(violations, []);
  assert.deepEqual(counts, {
    ...{ sent: 7, acknowledged: 2, refused: 2, conflicts: 1, unknown: 3 },
    ...{ retriedAcknowledged: 1, retriedUnknown: 0, ids: 5, plants: 2 },
  });
});

const bad: Record<
  string,
  { rows: readonly Row[]; entries: readonly JournalEntry[]; says: RegExp }
> = {
  'an acknowledged plant that is missing': {
    rows: [oakRow],
    entries: [sent(1, alder), answered(1, alder), sent(2, oak), answered(2, oak)],
    says: /^id 9223372036854775807: request 1: it was answered 200 and is not in the store$/,
  },
  'an acknowledged plant with another name': {
    rows: [[alder.id, 'Elder', 'Alnus']],
    entries: [sent(1, alder), answered(1, alder), sent(2, { ...alder, name: 'Elder' }), lost(2)],
    says: /^id 9223372036854775807: request 1: it was answered 200, and the store holds .*Elder/,
  },
  'an acknowledged plant whose absent tag has become an empty one': {
    rows: [[oak.id, 'Oak', '']],
    entries: [sent(1, oak), answered(1, oak), sent(2, { ...oak, tag: '' }), lost(2)],
    says: /^id -5: request 1: it was answered 200, and the store holds/,
  },
  'a plant that is there though its request had a wrong token': {
    rows: [oakRow],
    entries: [sent(1, oak, false), refused(1, 401, 40101)],
    says: /^id -5: the store holds .* every request for such a plant was refused$/,
  },
  'a conflict that was refused and has replaced the plant': {
    rows: [[oak.id, 'Elm', null]],
    entries: [sent(1, oak), lost(1), sent(2, { ...oak, name: 'Elm' }), refused(2, 400, 40004)],
    says: /^id -5: the store holds .*Elm.* every request for such a plant was refused$/,
  },
  'a plant that was never sent': {
    rows: [oakRow],
    entries: [],
    says: /^id -5: it is in the store and was never sent$/,
  },
  'a valid plant that was refused': {
    rows: [],
    entries: [sent(1, oak), refused(1, 401, 40101)],
    says: /^id -5: request 1: a valid plant was refused/,
  },
  'a wrong request that was answered 200': {
    rows: [],
    entries: [sent(1, oak, false), answered(1, oak)],
    says: /^id -5: request 1: it should have been refused and was answered 200$/,
  },
  'a 200 with the body of another plant': {
    rows: [oakRow],
    entries: [sent(1, oak), answered(1, alder)],
    says: /^id -5: request 1: the 200 has the body of another plant/,
  },
  'a defect': {
    rows: [],
    entries: [sent(1, oak), refused(1, 500, 50000)],
    says: /^id -5: request 1: the server answered with a defect/,
  },
};

test('the check reports what is lost, changed, invented or answered wrongly', async (t) => {
  for (const [what, { rows, entries, says }] of Object.entries(bad)) {
    const { violations } = await check(t, rows, entries);
    assert(
      violations.some((violation) => says.test(violation)),
      `${what}: ${violations.join('\n')}`,
    );
  }
});

test('the check is a command that exits 0 or 1, also with a last line that the client could not finish', async (t) => {
  const command = fileURLToPath(new URL('./check-journal.ts', import.meta.url));
  const [store, journal] = await storeAndJournal(t, [oakRow], [sent(1, oak), answered(1, oak)]);
  writeFileSync(journal, '{"n":2,"sent":{"id":"6","na', { flag: 'a' });
  const good = spawnSync(process.execPath, [command, store, journal], { encoding: 'utf8' });
  assert.deepEqual([good.status, JSON.parse(good.stdout).violations], [0, []]);

  using db = new DatabaseSync(store);
  db.exec('DELETE FROM plants');
  const { status, stdout } = spawnSync(process.execPath, [command, store, journal], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, JSON.parse(stdout).violations.length], [1, 1]);
});
