import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { until } from '../helpers/pause.ts';
import { nameOfDatabase, sharedPostgres } from '../helpers/postgres.ts';
import {
  childrenOf,
  type Ended,
  runProgram,
  startInTest,
  temporaryFolder,
} from '../helpers/program.ts';
import { failed } from '../helpers/run-here.ts';

const server = await sharedPostgres({ after });

/** Where prove works. */
interface Place {
  /** As `--store` takes it. */
  readonly store: string;
  /** Names of what is there. */
  holds(): Promise<unknown[]>;
  /** Whether the service under load is creating plants. */
  isCreating(): Promise<boolean>;
}

interface EngineCase {
  place(t: TestContext): Promise<Place>;
  /** Of the report of a proof that has passed. */
  readonly says: readonly RegExp[];
  /** What the report says of the harm that is done to the plants that a service has stored. */
  readonly harmed: RegExp;
  /** Text of a module for the service that does the harm. */
  readonly saboteur: string;
}

const engines = {
  SQLite: {
    async place(t) {
      const folder = await temporaryFolder(t);
      const holds = async () => readdirSync(folder, { recursive: true });
      const isLog = (name: unknown) => `${name}`.endsWith('plants.db-wal');
      const isCreating = async () => (await holds()).some(isLog);
      return { store: `sqlite:${join(folder, 'plants.db')}`, holds, isCreating };
    },
    says: [
      /^disk {6}.*, fdatasync p50 [0-9.]+ ms, p99 [0-9.]+ ms$/m,
      /^unproved {2}a kill is not a power cut/m,
    ],
    harmed: /^plants {4}0 lost, [1-9][0-9]* changed, 0 extra$/m,
    // With every eighth reply, it changes plants on a connection of its own.
    saboteur: `import { Socket } from 'node:net';
      import { DatabaseSync } from 'node:sqlite';
      // Threads have no arguments, but the variables of the process that has started them.
      const { PLANT_STORE_STORE: store } = process.env;
      if (process.argv.includes('serve')) process.env.SABOTAGED = store.slice('sqlite:'.length);
      const { write } = Socket.prototype;
      let replies = 0;
      let db;
      Socket.prototype.write = function (...args) {
        if (!String(args[0]).startsWith('HTTP/1.1 200')) return write.apply(this, args);
        db ??= new DatabaseSync(store.slice('sqlite:'.length), { timeout: 10_000 });
        replies += 1;
        if (replies % 8 === 0) db.exec("UPDATE plants SET name = 'Oak' WHERE id % 16 = 3");
        return write.apply(this, args);
      };`,
  },
  PostgreSQL: {
    async place() {
      const url = await server.makeDatabase();
      await server.query('CREATE TABLE plants (of_the_operator int)', url);
      const holds = () =>
        server.query(
          `SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'
            UNION ALL SELECT schemaname || '.' || tablename FROM pg_tables
              WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1`,
          url,
        );
      const inserts = `query LIKE '%INSERT INTO plants%' AND datname = '${nameOfDatabase(url)}'`;
      const isCreating = async () =>
        (await server.query(`SELECT FROM pg_stat_activity WHERE ${inserts}`)).length > 0;
      return { store: url.replace('//postgres@', '//postgres:open-sesame@'), holds, isCreating };
    },
    says: [
      /^database {2}postgres:\/\/postgres@127\.0\.0\.1:\d+\/plants_\w+$/m,
      /^promise {3}each plant is on the disk of the server before it is acknowledged;/m,
      /^unproved {2}only the service was killed, not the database/m,
    ],
    harmed: /^plants {4}[1-9][0-9]* lost, 0 changed, 0 extra$/m,
    // Every insert loses some of its new plants. A retry may look for earlier plants.
    saboteur: `import pg from ${JSON.stringify(import.meta.resolve('pg'))};
      const { query } = pg.Client.prototype;
      pg.Client.prototype.query = function (config, ...rest) {
        const { callback } = config;
        if (callback) config.callback = (error, results) => {
          const created = [results].flat().find((one) => one?.command === 'INSERT')?.rows.map(([id]) => id);
          if (!created) return callback(error, results);
          const text = 'DELETE FROM plants WHERE id % 16 = 3 AND id = ANY($1::bigint[])';
          query.call(this, text, [created], () => callback(error, results));
        };
        return query.call(this, config, ...rest);
      };`,
  },
} satisfies Readonly<Record<string, EngineCase>>;

export type Engine = keyof typeof engines;

export function prove(store: string, variables: Readonly<Record<string, string>>): Promise<Ended> {
  return runProgram(['prove', '--store', store], variables);
}

/** Measures the disk for a moment instead of a second. */
export function briefly(seconds: number): Readonly<Record<string, string>> {
  return withLimits({ prove: { seconds, syncMs: 50 } });
}

/** What the report of every proof that has passed has. */
export const passed: readonly RegExp[] = [
  /^load {6}[1-9][0-9,]* plants acknowledged on 16 connections, [1-9][0-9,]* a second$/m,
  /^kills {5}([2-9]|[1-9][0-9]+)$/m,
  /^plants {4}0 lost, 0 changed, 0 extra$/m,
  /^verdict {3}passed: /m,
];

/** Prove kills a loaded service again and again, finds every plant, and leaves nothing behind. */
export async function assertPasses(t: TestContext, engine: Engine, seconds: number): Promise<void> {
  const { place, says } = engines[engine];
  const { store, holds } = await place(t);
  const before = await holds();
  const settings = {
    PLANT_STORE_BASE_PATH: '/garden',
    PLANT_STORE_TOKEN: 'of-the-operator',
    PLANT_STORE_PORT: '1',
    PGUSER: 'nobody',
  };

  const { code, stdout, stderr } = await prove(store, { ...briefly(seconds), ...settings });

  assert.deepEqual([code, stderr], [0, ''], stdout);
  for (const line of [...says, ...passed]) assert.match(stdout, line);
  assert.deepEqual(await holds(), before);
}

/** Prove finds out that plants are harmed, says how many, and ends with 1. */
export async function assertFindsHarm(t: TestContext, engine: Engine): Promise<void> {
  const { place, harmed, saboteur } = engines[engine];
  const { store, holds } = await place(t);
  const before = await holds();
  const module = join(await temporaryFolder(t), 'saboteur.mjs');
  writeFileSync(module, saboteur);
  const limits = briefly(30);
  const options = `${limits['NODE_OPTIONS']} --import=${module}`;
  const { code, stdout, stderr } = await prove(store, { ...limits, NODE_OPTIONS: options });
  assert.deepEqual([code, stderr], [1, ''], stdout);
  assert.match(stdout, harmed);
  assert.match(stdout, /^verdict {3}FAILED/m);
  assert.deepEqual(await holds(), before);
}

/** SIGTERM while the service creates plants ends prove with 1, without data or a process left. */
export async function assertStops(t: TestContext, engine: Engine): Promise<void> {
  const { store, holds, isCreating } = await engines[engine].place(t);
  const before = await holds();
  const { child, ended } = startInTest(t, ['prove', '--store', store], briefly(3_600));
  await until(isCreating, Boolean);
  const children = childrenOf(child.pid);
  child.kill('SIGTERM');
  failed(
    await ended,
    /^plant-store: stopped by SIGTERM before its time; nothing is left behind\n$/,
  );
  assert.deepEqual(await holds(), before);
  assert.equal(children.length, 1);
  for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
}

export const untilStopped = {
  timeout: 120_000,
  skip: process.platform === 'linux' ? false : 'the children of a process are read from /proc',
};
