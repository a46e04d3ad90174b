import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { blocksUnder, readPage, root } from './pages.ts';
import { until } from './pause.ts';
import { asOtherUser, giveAway, postgresPrograms, query, sendTo } from './postgres.ts';
import { childrenOf, inReverse, type Owner, temporaryFolder } from './program.ts';

/** Three servers of PostgreSQL, one of which Patroni makes the primary. */
export type PatroniCluster = Awaited<ReturnType<typeof startPatroni>>;

type Member = Awaited<ReturnType<typeof memberOf>>;

const page = 'docs/operate/postgres.md';

/** As the page names it to pip. */
const [requirement = assert.fail('the page names no Patroni')] =
  /patroni\[.*?\]==[\d.]+/.exec(readPage(page)) ?? [];
const installed = join(
  root,
  'node_modules/.cache',
  `plant-store-${requirement.replace(/\W+/g, '-')}`,
);
const patroniProgram = join(installed, 'bin/patroni');

/**
 * Installs the Patroni of the page from PyPI, once. It needs a program of PostgreSQL that the npm
 * package lacks.
 *
 * @returns the reason if it cannot run
 */
export function whyNoPatroni(): string | undefined {
  if (!existsSync(join(postgresPrograms(), 'pg_controldata')))
    return 'the PostgreSQL of TEST_POSTGRES_BIN is missing, or has no pg_controldata';
  const fails = (file: string, ...args: string[]) => spawnSync(file, args).status !== 0;
  if (fails('etcd', '--version')) return 'there is no etcd';
  const isInstalled =
    !fails(patroniProgram, '--version') ||
    (!fails('python3', '-m', 'venv', '--clear', installed) &&
      !fails(join(installed, 'bin/pip'), 'install', requirement));
  return isInstalled ? undefined : `${requirement} cannot be installed`;
}

/** With the settings of the page. */
export async function startPatroni(owner: Owner) {
  assert.equal(whyNoPatroni(), undefined);
  const own = inReverse(owner);
  const folder = await temporaryFolder(own);
  const etcdPort = await startEtcd(own, join(folder, 'etcd'));
  const member = (name: string) => memberOf(own, join(folder, name), name, etcdPort);
  const members = await Promise.all(['a', 'b', 'c'].map(member));

  const primaryAmong = async (some: readonly Member[]) => {
    const [found = assert.fail()] = await until(
      () => primariesOf(some),
      ({ length }) => length > 0,
    );
    return found;
  };
  const primary = () => primaryAmong(members);
  /** Resolves when all members follow the primary, and commits wait for one of them. */
  async function repair(): Promise<void> {
    const roles = async () => {
      const reply = await fetch(`${(await primary()).apiUrl}/cluster`);
      const { members } = (await reply.json()) as { members: { role: string; state: string }[] };
      return members.filter(({ state }) => /^(running|streaming)$/.test(state));
    };
    const isSync = ({ role }: { readonly role: string }) => role === 'sync_standby';
    await until(roles, (all) => all.length === members.length && all.some(isSync));
  }
  await repair();
  await query((await primary()).port, 'postgres', 'CREATE DATABASE plants');
  return {
    primary,
    /** Resolves when another member than the old primary is the primary, whose commits wait. */
    async primaryBeside(old: Member): Promise<void> {
      const { port } = await primaryAmong(members.filter((one) => one !== old));
      const settings = `SELECT pg_is_in_recovery() AS follows,
        current_setting('synchronous_standby_names') AS names`;
      // It has the key of the leader before it takes writes.
      const [found] = await until(
        () => query(port, 'postgres', settings),
        ([one]) => one?.['follows'] === false,
      );
      assert.notEqual(found?.['names'], '', 'the mode is not strict');
    },
    repair,
    url: `postgres://postgres@${members.map(({ port }) => `127.0.0.1:${port}`)}/plants`,
  };
}

async function startEtcd(owner: Owner, folder: string): Promise<number> {
  const [port, peerPort] = await Promise.all([freePort(), freePort()]);
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const flags = {
    ...{ 'data-dir': folder, 'listen-client-urls': client, 'advertise-client-urls': client },
    ...{ 'listen-peer-urls': peer, 'initial-advertise-peer-urls': peer },
    'initial-cluster': `default=${peer}`,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const etcd = spawn('etcd', args, { stdio: 'ignore' });
  owner.after(() => etcd.kill('SIGKILL'));
  return port;
}

async function primariesOf(members: readonly Member[]): Promise<Member[]> {
  const ask = ({ apiUrl }: Member) =>
    fetch(`${apiUrl}/primary`, { signal: AbortSignal.timeout(500) }).then(
      ({ ok }) => ok,
      () => false,
    );
  const are = await Promise.all(members.map(ask));
  return members.filter((_, index) => are[index]);
}

async function memberOf(owner: Owner, folder: string, name: string, etcdPort: number) {
  mkdirSync(folder);
  const [port, apiPort] = await Promise.all([freePort(), freePort()]);
  const [address, api] = [`127.0.0.1:${port}`, `127.0.0.1:${apiPort}`];
  const user = { username: 'postgres' };
  const config = {
    ...{ scope: 'plants', name, etcd3: { host: `127.0.0.1:${etcdPort}` } },
    restapi: { listen: api, connect_address: api },
    bootstrap: {
      dcs: { ttl: 20, loop_wait: 1, retry_timeout: 3 },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'no-sync'],
    },
    postgresql: {
      ...{ listen: address, connect_address: address, bin_dir: postgresPrograms() },
      data_dir: join(folder, 'data'),
      pg_hba: ['all', 'replication'].map((what) => `host ${what} all 127.0.0.1/32 trust`),
      authentication: { superuser: user, replication: user },
      parameters: { unix_socket_directories: '' },
      remove_data_directory_on_diverged_timelines: true,
      basebackup: [{ checkpoint: 'fast' }],
    },
    // A machine of tests has no device for it.
    watchdog: { mode: 'off' },
  };
  const [{ text } = assert.fail('the page has no settings')] = blocksUnder(page, 'Patroni');
  writeFileSync(join(folder, '1-page.yml'), text);
  // YAML contains JSON.
  writeFileSync(join(folder, '2-own.yml'), JSON.stringify(config));
  giveAway(folder);
  let patroni: ChildProcess | undefined;
  function start(): void {
    const [command = '', ...args] = [...asOtherUser, patroniProgram, folder];
    patroni = spawn(command, args, { stdio: 'ignore' });
  }

  /** To Patroni, and to each process of its PostgreSQL. */
  function signal(signal: NodeJS.Signals): void {
    const file = join(folder, 'data/postmaster.pid');
    const server = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0;
    const servers = server > 0 ? [server, ...childrenOf(server)] : [];
    for (const pid of [patroni?.pid ?? assert.fail(), ...servers]) sendTo(pid, signal);
  }

  start();
  owner.after(() => signal('SIGKILL'));
  return { name, port, apiUrl: `http://${api}`, start, signal };
}
