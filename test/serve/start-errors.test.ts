import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { parseCommandLine, variableOf } from '../../src/cli/flags/command-line.ts';
import { type FlagName, flags } from '../../src/cli/flags/flags.ts';
import { limits } from '../../src/limits.ts';
import { logAge } from '../../src/serve/command.ts';
import { reservePort } from '../../src/serve/ports.ts';
import { ensureFirstToken } from '../../src/tokens/first-token.ts';
import { hashToken } from '../../src/tokens/opaque-tokens.ts';
import {
  commandLine,
  create,
  type Ended,
  oneThread,
  programInShell,
  runProgram,
  startServer,
  storePath,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { on, runHere } from '../helpers/run-here.ts';
import {
  alterStore,
  makeStore,
  newStore,
  openStoreAt,
  storedPlants,
} from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const nobody = 65_534;

/** One line for the operator that matches, no stack trace, and nothing on standard output. */
function assertOneLine({ code, stdout, stderr }: Ended, expectedCode: number, line: RegExp): void {
  assert.match(stderr, line);
  assert.match(stderr, /^plant-store: [^\n]+\n$/, 'one line');
  assert.doesNotMatch(stderr, /\bat .*:[0-9]+:[0-9]+|\.ts\b/, 'no stack trace');
  assert.equal(stdout, '');
  assert.equal(code, expectedCode);
}

/** Runs a command here, which ends with one line that says so. */
async function refused(line: RegExp, code: number, ...run: Parameters<typeof runHere>) {
  assertOneLine(await runHere(...run), code, line);
}

/** Starts that cannot work: what is put into an empty folder, and the store to start on in it. */
const badStores: Record<string, { path: string; prepare(folder: string): void; says: RegExp }> = {
  'that is a folder': {
    path: 'plants.db',
    prepare: (folder) => mkdirSync(join(folder, 'plants.db')),
    says: /cannot open the store at (\S+): it is a folder; name a file, such as sqlite:\1\/plants\.db, or choose/,
  },
  'that is a text file': {
    path: 'notes.txt',
    prepare: (folder) => writeFileSync(join(folder, 'notes.txt'), 'Water the alder.\n'.repeat(100)),
    says: /notes\.txt is not a plant store; choose another file with --store/,
  },
  'that is a database of another program': {
    path: 'other.db',
    prepare: (folder) =>
      alterStore(join(folder, 'other.db'), 'CREATE TABLE plants (id INTEGER PRIMARY KEY)'),
    says: /other\.db is an SQLite database of another program/,
  },
  'whose plants have no primary key, and a column more': {
    path: 'plants.db',
    prepare(folder) {
      makeStore(join(folder, 'plants.db'));
      alterStore(
        join(folder, 'plants.db'),
        `DROP TABLE plants; CREATE TABLE "plants" (id INTEGER, name text not null, tag TEXT,
           created_at INTEGER NOT NULL, created_by INTEGER NOT NULL, soil TEXT NOT NULL) STRICT`,
      );
    },
    says: /tables of the store at \S+ are not those of its version: plants is "CREATE TABLE .*soil TEXT NOT NULL\) STRICT" instead of "CREATE TABLE plants \( id INTEGER PRIMARY KEY, .*\) STRICT"; choose another file/,
  },
  'whose tokens may share a name, in tables that are not strict': {
    path: 'plants.db',
    prepare(folder) {
      makeStore(join(folder, 'plants.db'));
      alterStore(
        join(folder, 'plants.db'),
        'DROP INDEX tokens_name_in_force; DROP TABLE heartbeat; CREATE TABLE heartbeat (id INTEGER PRIMARY KEY CHECK (id = 1), beaten_at INTEGER NOT NULL)',
      );
    },
    says: /: tokens_name_in_force is "" instead of "CREATE UNIQUE INDEX tokens_name_in_force ON tokens .*", heartbeat is "CREATE TABLE heartbeat .*\)" instead of "CREATE TABLE heartbeat .*\) STRICT";/,
  },
  'of a newer schema': {
    path: 'plants.db',
    prepare: (folder) =>
      alterStore(
        join(folder, 'plants.db'),
        'PRAGMA application_id = 0x506c6e74; PRAGMA user_version = 99; CREATE TABLE t (x)',
      ),
    says: /plants\.db was made by a newer plant-store \(schema 99/,
  },
  'whose first token was replaced by something else': {
    path: 'plants.db',
    prepare(folder) {
      makeStore(join(folder, 'plants.db'));
      writeFileSync(join(folder, 'first-start.token'), 'no token\n', { mode: 0o600 });
    },
    says: /first-start\.token should hold the first token, but holds something else; move it away/,
  },
};

function contentOf(path: string): Buffer | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path) : undefined;
}

describe('stores that cannot be used', { concurrency: 2 }, () => {
  for (const [what, { path, prepare, says }] of Object.entries(badStores)) {
    test(`serve on a store ${what} ends with 1 and one line that says so`, async (t) => {
      const folder = await temporaryFolder(t);
      prepare(folder);
      const before = contentOf(join(folder, path));
      await refused(says, 1, ['serve', '--port', '0', ...on(join(folder, path))]);
      if (before !== undefined)
        assert(before.equals(readFileSync(join(folder, path))), 'untouched');
    });
  }
});

test('a first token in a file that others can read or have made admits no client, and the start says what to do', async (t) => {
  const path = await newStore(t);
  await using store = await openStoreAt(path);
  const file = join(dirname(path), 'first-start.token');
  const hash = hashToken(`ps_${'x'.repeat(43)}`);
  const ensure = () => ensureFirstToken(store, `sqlite:${path}`, file, Date.now());
  const refuses = async (says: string) => {
    const message = new RegExp(`: ${file} ${says}; check who has made it, and remove it`);
    await assert.rejects(ensure(), { name: 'StoreOpenError', message });
    assert.equal(await store.findToken(hash), undefined);
  };
  writeFileSync(file, `ps_${'x'.repeat(43)}\n`, { mode: 0o600 });
  for (const mode of ['0640', '0604', '0620', '0602']) {
    chmodSync(file, Number.parseInt(mode, 8));
    await refuses(`has mode ${mode}, so other users can read or write it`);
  }
  chmodSync(file, 0o600);
  if (process.geteuid?.() === 0) {
    chownSync(file, nobody, nobody);
    await refuses(`belongs to the user ${nobody}, and this program runs as the user 0`);
    chownSync(file, 0, 0);
  }
  renameSync(file, `${file}.real`);
  symlinkSync(`${file}.real`, file);
  await refuses('is a symbolic link');
  renameSync(`${file}.real`, file);
  assert(await ensure());
  assert.equal((await store.findToken(hash))?.name, 'first-start');
});

test('no command writes to a store with a trigger on its tables, and each names the trigger and the way out', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, other] = [join(folder, 'plants.ndjson'), join(folder, 'other.db')];
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
  makeStore(other, 1);
  // A trigger may have the name of a table.
  const trigger = 'CREATE TRIGGER plants AFTER INSERT ON plants BEGIN DELETE FROM plants; END';
  for (const [version, commands] of Object.entries({
    '2.0.0': [['upgrade']],
    now: [
      ['upgrade'],
      ['token', 'create', 'my-app'],
      ['import', file],
      ['copy', `sqlite:${other}`],
    ],
  })) {
    const store = join(folder, `${version}.db`);
    if (version === 'now') makeStore(store);
    else copyFileSync(join('test/data', `store-${version}.db`), store);
    alterStore(store, trigger);
    const says = `the store at ${store} has the trigger plants on plants, which may change or remove what is stored; find out where this comes from, and remove it: sqlite3 ${store} 'DROP TRIGGER "plants";'\n`;
    for (const command of commands) {
      const target = [...(command[0] === 'copy' ? [] : ['--store']), `sqlite:${store}`];
      const ended = await runHere([...command, ...target]);
      assert.deepEqual(ended, { code: 1, stdout: '', stderr: `plant-store: ${says}` });
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('.schema-')),
      [],
    );
  }
});

test('a command on a store that is not there ends with 1, makes none, and names the whole path and the way out', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, store] = [join(folder, 'plants.ndjson'), join(folder, 'data/plants.db')];
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
  const wayOut = `name the store with --store or PLANT_STORE_STORE, or make one there with "plant-store serve --store sqlite:${store}"`;
  const relation = '( \\(\\S+ is relative to the current folder\\))?';
  const says = new RegExp(`^plant-store: there is no store at ${store}${relation}; ${wayOut}\n$`);
  for (const command of [
    ['plants', 'count'],
    ['plants', 'list'],
    ['plants', 'get', '1'],
    ['token', 'create', 'my-app'],
    ['token', 'list'],
    ['token', 'revoke', 'my-app'],
    ['import', file],
  ])
    await refused(says, 1, [...command, ...on(relative(process.cwd(), store))]);
  assert.deepEqual(readdirSync(folder), ['plants.ndjson']);
  // An empty file is none, either, and stays as it is.
  mkdirSync(dirname(store));
  writeFileSync(store, '');
  for (const command of [
    ['plants', 'count'],
    ['token', 'create', 'my-app'],
    ['import', file],
  ])
    await refused(says, 1, [...command, ...on(store)]);
  assert.deepEqual([readFileSync(store, 'utf8'), readdirSync(dirname(store))], ['', ['plants.db']]);
});

const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

/** The other user may not write to the compile cache of the checkout, and every start would compile. */
const compileCache = await temporaryFolder({ after });
chmodSync(compileCache, 0o777);

/** Runs a command as a user that is not root. */
function asUser(...args: string[]): Ended {
  const { status, stdout, stderr } = spawnSync(...commandLine(...args), {
    ...user,
    env: { NODE_COMPILE_CACHE: compileCache },
    encoding: 'utf8',
    cwd: '/',
  });
  return { code: status, stdout, stderr };
}

const checkoutIsClosed =
  asUser('--version').code === 0 ? false : 'root has a checkout that no other user may read';

describe('a store that this user may not use', { skip: checkoutIsClosed }, () => {
  /** What is closed to all users but root, and what is said of it. */
  const closed: Readonly<
    Record<string, (folder: string) => readonly [path: string, says: string]>
  > = {
    'because of its folder': (folder) => [
      folder,
      `EACCES: permission denied, stat '${folder}/plants\\.db'`,
    ],
    'because of its file': (folder) => [
      join(folder, 'plants.db'),
      `EACCES: permission denied, (access|open) '${folder}/plants\\.db'`,
    ],
  };
  for (const [what, close] of Object.entries(closed)) {
    test(`${what} is not taken for one that is not there, and who may not do what is said`, async (t) => {
      const folder = await temporaryFolder(t);
      const store = join(folder, 'plants.db');
      await storedToken(store, 'my-app');
      using db = new DatabaseSync(store);
      db.exec('UPDATE tokens SET last_used_at = 1');
      chmodSync(folder, 0o777);
      for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o666);
      const [path, says] = close(folder);
      chmodSync(path, 0);
      const wayOut = 'the user \\d+ must be able to read and write there';
      const line = new RegExp(`cannot open the store at ${store}: ${says}; ${wayOut}`);
      assertOneLine(asUser('plants', 'count', '--store', `sqlite:${store}`), 1, line);
      const ended = asUser('serve', '--port', '0', '--store', `sqlite:${store}`);
      assert.match(ended.stderr, new RegExp(`: ${says}`));
      assert.equal(ended.code, 1);
      chmodSync(folder, 0o700);
    });
  }
});

test('serve on a port that another server has ends with 1, one line that names it, and leaves no lock behind', async (t) => {
  const store = await storePath(t);
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;

  const serve = ['serve', '--port', `${port}`, '--store', `sqlite:${store}`];
  const says = `port ${port} on 127\\.0\\.0\\.1 is taken by another program; choose another port with --port, `;
  assertOneLine(await runProgram(serve), 1, new RegExp(`${says}or `));
  const ofNpm = await runHere(serve, { npm_lifecycle_event: 'start' });
  assertOneLine(ofNpm, 1, new RegExp(`${says}as in "npm start -- --port 9000", or `));
  await startServer(t, store, oneThread);
});

test('a client that finds the port of a service that still starts is cut off, and does not hold up the start', async () => {
  await using reserved = await reservePort('127.0.0.1', 0);
  const client = connect(reserved.port, '127.0.0.1');
  await assert.rejects(once(client, 'close'), { code: 'ECONNRESET' });
});

test('serve with a --host that is no address of this machine ends with 1 and one line that names it', async (t) => {
  const serve = ['serve', '--port', '0', ...on(await storePath(t))];
  const elsewhere = 'is not an address of this machine; choose another address with --host';
  for (const [host, says] of [
    ['203.0.113.7', elsewhere],
    ['plants.invalid', elsewhere],
    ['not an address', elsewhere],
    ['fe80::1', 'needs its network interface, such as --host fe80::1%eth0'],
  ])
    await refused(new RegExp(`${host} ${says}`), 1, [...serve, '--host', `${host}`]);
});

test('a store that another program keeps locked is not taken for one that cannot be written', async (t) => {
  const store = await newStore(t);
  using other = new DatabaseSync(store);
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  const says = new RegExp(
    `cannot open the store at ${store}: another program keeps it locked; end that program \\("fuser ${store}" finds it\\), or`,
  );
  const commands = [
    ['serve', '--port', '0'],
    ['plants', 'count'],
    ['token', 'create', 'app'],
  ];
  const ended = commands.map((args) => runProgram([...args, '--store', `sqlite:${store}`]));
  for (const one of await Promise.all(ended)) assertOneLine(one, 1, says);
});

test('a command in a folder that was removed says so', async (t) => {
  const folder = join(await temporaryFolder(t), 'gone');
  mkdirSync(folder);
  const script = `rmdir ${folder} && ${programInShell} plants count`;
  const { status: code, ...ended } = spawnSync('sh', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
  });
  assertOneLine({ code, ...ended }, 1, /: the current folder was removed; go to another one$/m);
});

test('a --token-file that is missing, no regular file, or too large, is not waited for and not read whole', async (t) => {
  const folder = await temporaryFolder(t);
  const serve = ['serve', '--port', '0', ...on(join(folder, 'plants.db')), '--token-file'];
  const [pipe, large] = [join(folder, 'pipe'), join(folder, 'large')];
  spawnSync('mkfifo', [pipe]);
  // It takes no room on the disk, and more than a process may have as text.
  writeFileSync(large, token);
  truncateSync(large, 4 * 1_024 ** 3);
  const wayOut = 'put the token into a file, or give it in PLANT_STORE_TOKEN';
  await refused(/cannot read --token-file \S+none/, 1, [...serve, join(folder, 'none')]);
  for (const [file, reason] of [
    [pipe, 'not a regular file'],
    ['/dev/zero', 'not a regular file'],
    [large, 'is larger than 4 KiB'],
  ] as const) {
    const says = `cannot read --token-file ${file} \\(.* ${reason}\\); ${wayOut}\\n`;
    await refused(new RegExp(says), 1, [...serve, file]);
  }
});

test('a fixed token that no client could send ends serve with 2, and is not shown', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'token');
  const serve = ['serve', '--port', '0', ...on(join(folder, 'plants.db'))];
  for (const bad of ['two words', '', 'secret\nsecret', `${'s'.repeat(513)}`]) {
    writeFileSync(file, bad);
    const ended = await runHere([...serve, '--token-file', file]);
    assertOneLine(ended, 2, /the file .*token of --token-file must hold one token/);
    if (bad !== '') assert(!ended.stderr.includes(bad));
  }
  const inVariable = (text: string) => ({ PLANT_STORE_TOKEN: text });
  await refused(/PLANT_STORE_TOKEN must hold one token/, 2, serve, inVariable('two words'));
  writeFileSync(file, token);
  const both = [...serve, '--token-file', file];
  await refused(/PLANT_STORE_TOKEN and --token-file/, 2, both, inVariable(token));
});

test('a short fixed token ends serve with 2 where other machines may guess it, and is not shown', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, short] = [join(folder, 'token'), token.slice(0, 31)];
  writeFileSync(file, short);
  const serve = ['serve', '--port', '0', '--new-store', 'never', ...on(join(folder, 'plants.db'))];
  for (const host of ['0.0.0.0', '::', '127.evil.example.org', 'localhost.example.org', '::2']) {
    const wayOut = 'take a longer one, such as "openssl rand -base64 32" prints, or remove';
    const says = (source: string) =>
      RegExp(`the token of ${source} has fewer than 32 characters.* at --host ${host}; ${wayOut}`);
    const variable = await runHere([...serve, '--host', host], { PLANT_STORE_TOKEN: short });
    const flag = await runHere([...serve, '--host', host, '--token-file', file]);
    assertOneLine(variable, 2, says('PLANT_STORE_TOKEN'));
    assertOneLine(flag, 2, says(`the file ${file} of --token-file`));
    for (const { stderr } of [variable, flag]) assert(!stderr.includes(short));
  }
  // These end with the next error, that there is no store.
  const enough = { PLANT_STORE_TOKEN: token.slice(0, 32) };
  const taken = await runHere([...serve, '--host', '0.0.0.0'], enough);
  assert.match(taken.stderr, /there is no store at/);
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1']) {
    const { stderr } = await runHere([...serve, '--host', host], { PLANT_STORE_TOKEN: short });
    assert.match(stderr, /there is no store at/);
  }
});

test('a --token-file may be a symbolic link, as the secrets of containers are; on a loopback address a service warns of a short token, and takes it; a start tells the age of an old heartbeat in the store', async (t) => {
  const store = await newStore(t);
  const beatMs = Date.now() - 50 * 3_600_000;
  alterStore(store, `INSERT INTO heartbeat VALUES (1, ${beatMs})`);
  const folder = await temporaryFolder(t);
  const link = join(folder, 'token');
  writeFileSync(join(folder, 'token-of-today'), 'short\n');
  symlinkSync('token-of-today', link);
  const { plantsUrl, stderr } = await startServer(
    t,
    store,
    [...oneThread, '--token-file', link],
    {},
  );
  const fields = { Authorization: 'Bearer short' };
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' }, fields)).status, 200);
  assert.match(stderr(), /"warn".*the fixed token is short, and users of this machine may guess/);
  const says =
    'the last heartbeat in the store was 2 days ago; if the store was restored, plants that were created later are missing';
  const logged = `"lastHeartbeatAt":"${new Date(beatMs).toISOString()}","msg":"${says}"`;
  assert(stderr().includes(logged), stderr());
});

/** What is typed wrongly, and what the one line must name: one of each kind. */
const wrongUsage: readonly (readonly [
  args: string,
  says: RegExp,
  variables?: Record<string, string>,
])[] = [
  ['serv', /"serv"; did you mean "plant-store serve"\?/],
  ['lost', /"lost"; "plant-store --help" lists the commands/],
  ['--json plants list', /--json is no command; flags come after/],
  ['version', /"version"; did you mean "plant-store --version"\?/],
  ['token delete one', /"token delete"; there are "plant-store token create", .* revoke"$/m],
  ['plants lst', /"plants lst"; did you mean "plant-store plants list"\?/],
  ['plants', /plants needs a second word.*plants get.*plants list.*plants count/],
  ['plants get', /plants get needs ID/],
  ['plants get one', /ID must be an integer .*"one"/],
  ['plants get 9223372036854775808', /ID must be an integer .*"9223372036854775808"/],
  ['plants count 2', /plants count does not take "2"/],
  ['plants count --limit 1', /--limit/],
  ['plants list --tag --json', /--tag needs a value: TAG; .* written as --tag=VALUE/],
  ['plants list --tag -5 --json', /--tag needs a value: TAG; .* written as --tag=VALUE/],
  ['plants list --json=yes', /--json takes no value$/m],
  ['import -x.csv', /no flag -x; --help lists the flags, and a word behind -- is no flag/],
  ['plants list --constructor', /no flag --constructor; --help lists the flags$/m],
  ['plants list --limit all', /--limit must be none, or a whole number from 1 .*; it is "all"/],
  ['token rotate one --grace x', /--grace must be 0, or a time such as/],
  ['serve --port 80 --port 81', /--port is given twice; give it once/],
  ['serve --backup-keep 1d:1h', /--backup-keep has no effect without --backup-to; set both/],
  [
    'doctor',
    /PLANT_STORE_JWT_TYPE has no effect without --jwt-issuer; /,
    { PLANT_STORE_JWT_TYPE: 'jwt' },
  ],
  ['serve --host 0.0.0.0 --ops-port 8080', /are both 8080 on 0\.0\.0\.0 and 127\.0\.0\.1; choose/],
  ['serve --host localhost --ops-port 8080', /are both 8080 on localhost and 127\.0\.0\.1; /],
  ['serve --prot 8080', /there is no flag --prot; did you mean --port\?/],
  ['serve --port 65536', /--port must be a whole number from 0 to 65535; it is "65536"/],
  ['serve --host ', /--host needs a value; it is ""/],
  ['serve', /PLANT_STORE_PORT must be .*; it is "x"/, { PLANT_STORE_PORT: 'x' }],
  ['serve', /PLANT_STORE_COMMIT_TIMEOUT must be a time/, { PLANT_STORE_COMMIT_TIMEOUT: '10' }],
  ['serve', /PLANT_STORE_STORE must be sqlite:PATH/, { PLANT_STORE_STORE: 'plants.db' }],
  ['serve', /PLANT_STORE_TOKEN must hold one token/, { PLANT_STORE_TOKEN: '' }],
  ['serve --store /srv/plants.db', /, such as sqlite:\/srv\/plants\.db; it is "\/srv/],
  ['serve --store sqlite::memory:', /--store must be sqlite:PATH/],
  [
    'serve --store postgres://ada:secret@db/p?sslmod=require',
    /has the parameter sslmod, which is not supported; .*; it is "postgres:…"$/m,
  ],
  [
    'serve --min-standbys 1',
    /--min-standbys 1 needs a PostgreSQL database, and the store is the file/,
  ],
  ['serve --database-connections 3', /--database-connections 3 needs a PostgreSQL database/],
  ['serve --base-path plants', /--base-path must be a path/],
  ...['a.example', 'https://a/', 'https://*.a', 'null', '*,http://a'].map(
    (origins) => [`serve --cors-origins ${origins}`, /--cors-origins must be origins w/] as const,
  ),
  ['serve --body-limit 1MB', /--body-limit must be a whole number/],
  ['serve --log-level loud', /--log-level must be one of debug, info, warn, error/],
  ['serve postgres://eve:secret@h/d', /serve does not take "postgres:\/\/…"/],
  ['token create two\twords', /NAME must be/],
  ['token create one --rate 100/s:0', /--rate must be .* a burst from 1 to 100000000, .*:0"$/m],
  ['serve --jwt-rate 5', /--jwt-rate must be a number of creates in a time, such as 100\/s/],
  ['token update one --rate 100/s --burst 5', /no flag --burst; --help lists the flags$/m],
  ['token create import --role operate', /NAME must be .* other than environment and import/],
  ['token create my-app --role admin', /--role must be one of create, operate/],
  ['token create my-app --expires tomorrow', /--expires must be a time/],
  ['backup  --keep 24h:1h', /backup needs DEST/],
  ['plants count', /no variable PLANT_STORE_PROT; did you mean.*PORT/, { PLANT_STORE_PROT: '9' }],
  ['serve', /no variable PLANT_STORE_GARDEN; .*--help/, { PLANT_STORE_GARDEN: 'secret' }],
];

test('wrong usage ends with 2, and one line names what is wrong', async () => {
  for (const [args, says, variables] of wrongUsage)
    await refused(says, 2, args.split(' '), variables);
});

test('an empty value is an error for each flag but --tag, and for each variable but that of the file of a token', () => {
  const refusal = (source: string) => ({ name: 'UsageError', message: RegExp(`^${source} `) });
  for (const name of Object.keys(flags) as FlagName[]) {
    const variable = variableOf(name);
    const typed = () => parseCommandLine([`--${name}`, ''], [name], {});
    const set = () => parseCommandLine([], [name], { [variable]: '' });
    const isSwitch = flags[name].placeholder === '';
    if (name === 'tag') assert.equal(typed().values.tag, '');
    else if (!isSwitch) assert.throws(typed, refusal(`--${name}`));
    if (name === 'token-file') assert.equal(set().values[name], undefined);
    else if (name !== 'tag') assert.throws(set, refusal(variable));
  }
});

test('blanks around the commas of a list count for nothing', () => {
  const lists = { 'ops-names': 'a, b', 'cors-origins': 'http://a, http://b' } as const;
  const args = Object.entries(lists).flatMap(([name, list]) => [`--${name}`, list]);
  const { values } = parseCommandLine(args, ['ops-names', 'cors-origins'], {});
  assert.deepEqual(values, { 'ops-names': ['a', 'b'], 'cors-origins': ['http://a', 'http://b'] });
});

test('no timer gets a time that Node cannot hold: the error names the flag, its bound and the value', () => {
  // These go into no timer: dates in the store, and a schedule that looks each minute.
  const datesOnly: readonly string[] = ['expires', 'grace', 'since', 'until', 'backup-every'];
  for (const [name, { placeholder }] of Object.entries(flags)) {
    if (placeholder !== 'TIME' || datesOnly.includes(name)) continue;
    const parse = () => parseCommandLine([`--${name}=25d`], [name as FlagName], {});
    assert.throws(parse, { message: RegExp(`^--${name} .*, and at most \\d+d; it is "25d"$`) });
  }
});

test('the curl line printed at the first start works as it is, with the store in a folder of any name', {
  skip: spawnSync('curl', ['--version']).error && 'there is no curl on this machine',
}, async (t) => {
  const name = `O'Hara's "$HOME" \`id\` plants; \\ & {more}`;
  const store = join(await temporaryFolder(t), name, 'plants.db');
  const server = await startServer(t, store, [...oneThread, '--log-format', 'text'], {});
  // What a server prints for a person at its start, to the end.
  while (!/^ *curl .*\n/m.test(server.stdout()))
    await once(server.child.stdout as Readable, 'data');
  const welcome = server.stdout();

  for (const line of [
    `  address  ${server.plantsUrl}`,
    `  docs     ${server.plantsUrl.replace(/plants$/, 'docs')}`,
    `  store    ${store} (new: there was none)`,
    `  token    in ${join(dirname(store), 'first-start.token')}`,
  ])
    assert(welcome.includes(`${line}\n`), welcome);
  const curl = /^ *curl .*$/m.exec(welcome)?.[0] ?? '';
  const env = { PATH: process.env['PATH'] };
  const { stdout: reply, stderr } = spawnSync('bash', ['-c', curl], { env, encoding: 'utf8' });
  assert.equal(reply, '{"name":"Alder","tag":"Alnus"}', stderr);
  assert.deepEqual(storedPlants(store), [[1n, 'Alder', 'Alnus']]);
});

test('off a terminal nothing is on standard output, and each line on standard error is an event', async (t) => {
  const server = await startServer(t, await storePath(t), oneThread);
  assert.equal(await server.stop(), 0);
  const lines = server.stderr().trimEnd().split('\n');
  assert.equal(server.stdout(), '');
  // What the machine is warned of, such as root or a disk in memory, is not the same everywhere.
  const events = lines.map((line) => JSON.parse(line)).filter(({ check }) => check === undefined);
  const messages = events.map(({ msg }) => msg);
  const made = 'there was no store; a new store has been made';
  assert.deepEqual(messages, [made, 'ready', 'stopping', 'stopped']);
  for (const { level, msg, time, pid } of events) {
    assert.equal(level, msg === made ? 'warn' : 'info');
    assert.equal(new Date(time).toISOString(), time);
    assert(pid > 0);
  }
  assert.match(events[0].store, /^\/.*\/plants\.db$/);
  assert.match(events[1].url, /^http:\/\/127\.0\.0\.1:[0-9]+\/plants$/);
  assert.equal(events[1].token, 'in PLANT_STORE_TOKEN');
  assert.equal(events[2].signal, 'SIGTERM');
});

test('a restart at once tells nothing of the heartbeat, and a heartbeat in the future is a warning', () => {
  const told: string[] = [];
  const note = (level: string) => (_: object, text: string) => void told.push(`${level}: ${text}`);
  const log = { info: note('info'), warn: note('warn') };
  logAge(Date.now() - limits.ops.heartbeatStaleMs / 2, log);
  assert.deepEqual(told, []);
  logAge(Date.now() + 400 * 86_400_000, log);
  assert.match(`${told}`, /^warn: the last heartbeat in the store is in the future/);
});
