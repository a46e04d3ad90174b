import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { listedIn, loadCommands } from '../../src/cli/command.ts';
import { parseCommandLine } from '../../src/cli/flags/command-line.ts';
import { type Flag, flags } from '../../src/cli/flags/flags.ts';
import { commandGroups } from '../../src/commands.ts';
import { keepCreating } from '../helpers/load.ts';
import { until } from '../helpers/pause.ts';
import {
  type Owner,
  oneThread,
  runProgram,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { done, doneJson, doneRecords, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { shareServer } from '../helpers/shared-server.ts';
import {
  addToken,
  alterStore,
  newStore,
  openStoreAt,
  storedPlants,
} from '../helpers/store-file.ts';

const commands = await loadCommands(listedIn(commandGroups));

const plants = [
  '{"id":-9223372036854775808,"name":"Yew","tag":"Taxus"}',
  '{"id":-5,"name":""}',
  '{"id":0,"name":"Alder","tag":"Alnus"}',
  '{"id":7,"name":"Grey alder","tag":"Alnus"}',
  '{"id":9007199254740993,"name":"100% Ёлка","tag":""}',
  '{"id":9223372036854775807,"name":"O\'Hara\\n\\"Oak\\""}',
];

/**
 * A store with the plants above, brought by the token `my-app` and, the first, by the token of the
 * environment.
 */
async function storeWithPlants(t: Owner): Promise<string> {
  const store = await newStore(t);
  addToken(store, 'my-app');
  alterStore(
    store,
    `INSERT INTO plants VALUES
      (-9223372036854775808, 'Yew', 'Taxus', 1000, 0),
      (-5, '', NULL, 1000, 1),
      (0, 'Alder', 'Alnus', 1000, 1),
      (7, 'Grey alder', 'Alnus', 1764000000123, 1),
      (9007199254740993, '100% Ёлка', '', 1000, 1),
      (9223372036854775807, 'O''Hara' || char(10) || '"Oak"', NULL, 1000, 1)`,
  );
  return store;
}

/** Runs a command that must succeed without a word on standard error. */
async function output(store: string, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runHere([...args, ...on(store)]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return withoutDetails(stdout).split('\n').slice(0, -1);
}

/** Lines of plants without the time and the token, which follow the members of a NewPlant. */
function withoutDetails(lines: string): string {
  return lines.replaceAll(/,"createdAt":"[^"]+","createdBy":"[^"]+"\}$/gm, '}');
}

const sharedServer = await shareServer(oneThread, await newStore({ after }));

test('plants list prints each plant as a line that could be sent, in ascending order of id, with every id exact', async (t) => {
  assert.deepEqual(await output(await storeWithPlants(t), 'plants', 'list'), plants);
});

test('plants list and plants count take a tag, a part of the name in any case, a creator and a time', async (t) => {
  const store = await storeWithPlants(t);
  const [yew = '', blank = '', alder = '', grey = '', larch = ''] = plants;
  alterStore(
    store,
    `UPDATE plants SET created_at = ${Date.now() - 3_000_000} WHERE id IN (-9223372036854775808, -5)`,
  );
  const expected: readonly (readonly [args: readonly string[], lines: readonly string[]])[] = [
    [
      ['--tag', 'Alnus'],
      [alder, grey],
    ],
    [['--tag='], [larch]],
    [
      ['--name-contains', 'alder'],
      [alder, grey],
    ],
    [['--created-by', 'environment'], [yew]],
    [
      ['--since', '1h'],
      [yew, blank],
    ],
    [['--since', '49m'], []],
  ];
  for (const [args, lines] of expected) {
    const { code, stdout, stderr } = await runHere(['plants', 'list', ...args, ...on(store)]);
    assert.deepEqual(withoutDetails(stdout), lines.map((line) => `${line}\n`).join(''));
    assert.deepEqual([code, stderr], [0, lines.length > 0 ? '' : 'No plant matches.\n']);
    const count = ['plants', 'count', ...args, ...on(store)];
    assert.equal((await done(...count)).stdout, `${lines.length}\n`);
    assert.deepEqual(await doneJson(...count), { plants: lines.length });
  }
});

test('plants list --limit says that there are more plants', async (t) => {
  const store = await storeWithPlants(t);
  const list = async (limit: string) => {
    const ended = await runHere(['plants', 'list', '--limit', limit, ...on(store)]);
    return [ended.code, withoutDetails(ended.stdout), ended.stderr];
  };
  const more = 'There are more plants; --limit none lists all.\n';
  assert.deepEqual(await list('2'), [0, `${plants[0]}\n${plants[1]}\n`, more]);
  assert.deepEqual(await list('6'), [0, plants.map((one) => `${one}\n`).join(''), '']);
  assert.deepEqual(await list('none'), [0, plants.map((one) => `${one}\n`).join(''), '']);
});

test('plants list --newest prints the plants that came last first', async (t) => {
  const store = await storePath(t);
  const names = ['Alder', 'BIRCH', 'birch', 'Birch'];
  {
    await using writer = await openStoreAt(store);
    for (const [index, name] of names.entries()) {
      const id = BigInt((7 * (index + 1)) % 10);
      await writer.createPlants([{ id, name, tag: undefined, createdBy: 0 }]);
    }
  }
  const found = async (...args: string[]) => {
    const records = await doneRecords('plants', 'list', '--newest', ...on(store), ...args);
    return records.map(({ name }) => name);
  };
  assert.deepEqual(await found('--limit', '3'), ['Birch', 'birch', 'BIRCH']);
  assert.deepEqual(await found('--limit', 'none'), names.toReversed());
  const birches = await found('--name-contains', 'birch', '--since', '1h');
  assert.deepEqual(birches, ['Birch', 'birch', 'BIRCH']);
  assert.deepEqual(await found('--until', '2026-01-01'), []);
  const until2100 = await found('--since', '2026-01-01', '--until', '2100-01-01T00:00Z');
  assert.deepEqual(until2100, names.toReversed());
});

test('plants list --format csv has the time and the token, and the list can be imported', async (t) => {
  const store = await storeWithPlants(t);
  alterStore(store, `UPDATE tokens SET name = 'https://login.example.org a,b'`);
  const args = ['plants', 'list', '--name-contains', 'rey', '--format', 'csv', ...on(store)];
  const list = await runHere(args, {}, { width: 80 });
  const head = 'id,name,tag,createdAt,createdBy\r\n';
  const grey = '7,Grey alder,Alnus,2025-11-24T16:00:00.123Z,"https://login.example.org a,b"\r\n';
  assert.deepEqual(list, { code: 0, stdout: head + grey, stderr: '' });
  const [file, copy] = [join(await temporaryFolder(t), 'grey.csv'), await newStore(t)];
  writeFileSync(file, list.stdout);
  await done('import', file, ...on(copy));
  assert.deepEqual(storedPlants(copy), [[7n, 'Grey alder', 'Alnus']]);
});

test('plants list prints a table on a terminal, and lines of JSON there with --json', async (t) => {
  const store = await storeWithPlants(t);
  const args = ['plants', 'list', '--tag', 'Taxus', ...on(store)];
  const table = await runHere(args, {}, { width: 80 });
  assert.match(table.stdout, /^ +ID +NAME +TAG +CREATED +BY\n-9223372036854775808 +Yew +Taxus /);
  const json = await runHere([...args, '--json'], {}, { width: 80 });
  assert.equal(withoutDetails(json.stdout), `${plants[0]}\n`);
});

test('plants get takes several ids, any of int64, and says which of them are not there', async (t) => {
  const store = await storeWithPlants(t);
  const get = (...args: string[]) => runHere(['plants', 'get', ...on(store), ...args]);
  const ids = ['9223372036854775807', '7', '-5', '--', '-9223372036854775808'];
  const records = [5, 3, 1, 0].map((index) => `${plants[index]}\n`).join('');
  for (const format of [[], ['--json']]) {
    const found = await get(...format, ...ids);
    assert.deepEqual([found.code, withoutDetails(found.stdout), found.stderr], [0, records, '']);
  }
  const some = await get('0', '5', '7', '6');
  const absent = (id: number) =>
    `plant-store: there is no plant with the id ${id} in sqlite:${store}\n`;
  assert.deepEqual([some.code, withoutDetails(some.stdout)], [1, `${plants[2]}\n${plants[3]}\n`]);
  assert.equal(some.stderr, `${absent(5)}${absent(6)}2 of 4 ids were not found.\n`);
  for (const wrong of ['x', '-']) {
    const ended = await get('7', wrong);
    failed(ended, new RegExp(`: ID must be an integer from .*; it is "${wrong}"\n`), 2);
    assert.equal(ended.stdout, '');
  }
  failed(await get(), /plants get needs ID\.\.\.; /, 2);
});

test('whatever prints a record or a report takes --json', () => {
  const others = ['serve', 'upgrade', 'completion'];
  for (const { name, flags } of commands)
    assert.equal((flags as readonly string[]).includes('json'), !others.includes(name), name);
});

test('token create --json prints the token with its name, its role and its end, and no name is taken twice', async (t) => {
  const store = await newStore(t);
  const create = (...args: string[]) => doneJson('token', 'create', ...args, ...on(store));
  const { token, ...rest } = await create('one');
  assert.match(token, /^ps_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(rest, { name: 'one', role: 'create' });
  await refused(/there is a token named "one" already; /, 'token', 'create', 'one', ...on(store));
  const { expiresAt } = await create('two', '--role', 'operate', '--expires', '90d');
  assert.equal(new Date(expiresAt).toISOString(), expiresAt);
});

test('every command gets its turn while a server commits without pause', async () => {
  const { store, plantsUrl } = sharedServer();
  const load = keepCreating(plantsUrl, 2, () => undefined);
  const made = await runProgram(['token', 'create', 'one', ...on(store)]);
  assert.equal(made.code, 0, made.stderr);
  // The commands may be over before the server has had so many creates.
  const counted = await until(
    () => runProgram(['plants', 'count', ...on(store)]),
    ({ stdout }) => Number(stdout) > 10,
  );
  await load.stop();

  const { length } = load.acknowledged;
  assert(Number(counted.stdout) <= length);
  assert.equal(storedPlants(store).length, length);
});

test('--version and -V print that of the package', async () => {
  const expected = { code: 0, stdout: `${manifest.version}\n`, stderr: '' };
  assert.deepEqual(await runProgram(['--version']), expected);
  assert.deepEqual(await runHere(['-V']), expected);
});

test('help names every command; without a command it is shown too, as wrong usage', async () => {
  const { code, stdout, stderr } = await runHere(['--help']);
  assert.deepEqual([code, stderr], [0, '']);
  const text = stdout.replaceAll(/\s+/g, ' ');
  for (const { name, positionals, summary } of commands)
    assert(text.includes([name, ...positionals, summary].join(' ')), name);
  assert.deepEqual(await runHere(['-h']), { code, stdout, stderr });
  assert.deepEqual(await runHere(['help']), { code, stdout, stderr });
  assert.deepEqual(await runHere([]), { code: 2, stdout: '', stderr: stdout });
});

test('the help of each command shows its flags, and examples that it takes, in 80 columns and 75 lines', async () => {
  for (const known of commands) {
    const { code, stdout, stderr } = await runHere([...known.name.split(' '), '--help']);
    assert.deepEqual([code, stderr], [0, '']);
    for (const flag of known.flags) assert.match(stdout, new RegExp(`^  --${flag}\\b`, 'm'));
    const [alone = '', examples = ''] = stdout.split('\nExamples:\n');
    for (const example of examples.trimEnd().split('\n')) parses(known, example.trim());
    assert(alone.split('\n').every((line) => line.length <= 80));
    assert(stdout.trimEnd().split('\n').length <= 75, known.name);
    for (const again of [
      ['help', ...known.name.split(' ')],
      [...known.name.split(' '), '--help=yes'],
    ])
      assert.deepEqual(await runHere(again), { code, stdout, stderr });
  }
});

test('what a flag needs is a flag, and its text in one command stands in the help of this command', async () => {
  for (const [name, { needs, helpIn = {} }] of Object.entries<Flag<unknown>>(flags)) {
    assert(needs === undefined || needs in flags, name);
    for (const [command, text] of Object.entries(helpIn)) {
      const { stdout } = await runHere(['help', ...command.split(' ')]);
      assert(stdout.replaceAll(/\s+/g, ' ').includes(` ${text} `), `${command} --${name}`);
    }
  }
});

/** As the program would take it. */
function parses(known: (typeof commands)[number], example: string): void {
  const words = example.split(' ');
  const variables = words.splice(0, words.indexOf('plant-store')).map((word) => word.split('='));
  const name = known.name.split(' ');
  assert.deepEqual(words.slice(1, 1 + name.length), name);
  const args = words.slice(1 + name.length);
  const { positionals } = parseCommandLine(args, known.flags, Object.fromEntries(variables));
  const needed = known.positionals.filter((one) => !one.startsWith('['));
  const takesMore = known.positionals.at(-1)?.endsWith('...');
  assert(positionals.length >= needed.length, example);
  assert(takesMore || positionals.length <= known.positionals.length, example);
}

test('the examples of the token and plants commands work, one after the other, on a new store', async (t) => {
  const store = await newStore(t);
  const runAll = async (family: string) => {
    const examples = commands
      .filter(({ name }) => name.startsWith(`${family} `))
      .flatMap((known) => known.examples);
    assert(examples.length > 3);
    for (const example of examples)
      await done(...example.replace('plant-store ', '').split(' '), ...on(store));
  };
  await runAll('token');
  alterStore(
    store,
    `INSERT INTO plants VALUES (1, 'alder', NULL, 0, 1), (9223372036854775807, 'Oak', NULL, 0, 1)`,
  );
  await runAll('plants');
});
