import { randomBytes } from 'node:crypto';
import { limits } from '../../limits.ts';
import { count, measuresIn, sumOf, writerLayout } from '../../threads/measures.ts';
import { sharedCounter } from '../../threads/shared-counter.ts';
import type { StoreOptions } from '../engine.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import { type PostgresLocation, shownUrl } from '../location.ts';
import { demandNewest } from '../schema-version.ts';
import type { Durability, SharedStore, Store, StoreReader, StoreShare } from '../store.ts';
import { callsOf } from '../tables/steps.ts';
import { changes } from '../tables/tables.ts';
import { measured, openShares } from '../write-measures.ts';
import type { Connection } from './connection.ts';
import { openConnector } from './connector.ts';
import { type CreateContext, createPlants } from './plants.ts';
import { openPool } from './pool.ts';
import { demandStore, readerOn } from './reader.ts';
import { rememberRefused } from './refused-plants.ts';
import { ensureSchema, plantsBytes, refuseChangedTables } from './schema.ts';
import {
  type DurabilitySettings,
  durabilityUnder,
  standbyNames,
  standbysDemand,
} from './session.ts';
import { runChange } from './steps.ts';
import { testWrite } from './test-write.ts';
import type { Query } from './transaction.ts';

/** Each thread that joins has connections of its own. @throws StoreOpenError, StoreError */
export async function openPostgresStore(
  location: PostgresLocation,
  options: StoreOptions,
): Promise<SharedStore> {
  const { writers, share } = openShares(new SharedArrayBuffer(sharedBytes));
  const { pool, store, durability, pooler } = connected(location, share(), options);
  let isNew = false;
  try {
    if (options.mayMake) isNew = await pool.run(ensureSchema);
    await pool.run(async (query) => {
      const version = await demandStore(query, location);
      demandNewest(version, 'the store in the database', shownUrl(location));
      await refuseChangedTables(query);
    });
    await pool.run((query) => forgetOldBeats(query, Date.now()));
  } catch (error) {
    pool.close();
    throw error;
  }
  return {
    ...store,
    isNew,
    async testWrite() {
      const { fault, refused, warnings } = await pool.run((query) => testWrite(query, true));
      if (fault)
        throw new StoreOpenError(
          `the database does not store plants as they are sent: ${fault.says}; ${fault.remedy}`,
        );
      return refused ? [`${refused.says}; ${refused.remedy}`] : warnings;
    },
    share,
    failed: new Promise(() => undefined),
    durability,
    pooler: pooler(),
    metrics: {
      writers,
      plantsBytes: () => pool.run(plantsBytes),
      connections: () => sumOf(writers.map(({ connections }) => connections))[0],
    },
  };
}

export function joinPostgresStore(
  location: PostgresLocation,
  share: StoreShare,
  options: StoreOptions,
): Store {
  return connected(location, share, options).store;
}

/** For reading only. @param readMs for each query @throws StoreOpenError, StoreError */
export async function openPostgresReader(
  location: PostgresLocation,
  readMs: number,
): Promise<StoreReader> {
  const connector = openConnector(location, readMs, { acceptsLostCommits: true, isReader: true });
  const pool = openPool(connector, 1);
  try {
    await pool.run((query) => demandStore(query, location));
  } catch (error) {
    pool.close();
    throw error;
  }
  return readerOn(location, connector, pool);
}

/** Of two numbers: the pools that starve, and whether a test write has found a fault. */
const sharedBytes = 2 * Int32Array.BYTES_PER_ELEMENT;

function connected(
  location: PostgresLocation,
  share: StoreShare,
  {
    callMs,
    acceptsLostCommits = false,
    connectionsPerThread = limits.postgres.connectionsPerThread,
    standbysMin = 0,
  }: StoreOptions,
) {
  let durability: Durability | undefined;
  let pooler: string | undefined;
  const measures = measuresIn(writerLayout, share.measures);
  const onConnection = ({ settings, client }: Connection) => {
    durability = durabilityUnder(settings);
    pooler = settings.pooler;
    count(measures.connections, 1);
    client.once('end', () => count(measures.connections, -1));
  };
  const connector = openConnector(location, callMs, { acceptsLostCommits }, onConnection);
  const starving = sharedCounter(share.memory);
  /** 1 while the last test write of the main thread has found a fault. */
  const faulty = new Int32Array(share.memory, Int32Array.BYTES_PER_ELEMENT);
  let testedMs = performance.now();
  const pool = openPool(connector, connectionsPerThread, starving);
  const node = randomBytes(8).readBigInt64BE();
  const context: Omit<CreateContext, 'searchEndMs'> = {
    confirm: async (query) => void (await beat(query, node, Date.now())),
    refused: rememberRefused(),
  };

  /** A trigger may come while the service runs. */
  async function testAgain(): Promise<void> {
    const isDue = performance.now() - testedMs > limits.postgres.testWriteMs;
    if (!isDue && Atomics.load(faulty, 0) === 0) return;
    const { fault } = await pool.run((query) => testWrite(query, false));
    testedMs = performance.now();
    Atomics.store(faulty, 0, Number(fault !== undefined));
    if (fault) throw new StoreError('unavailable', `${fault.says}; ${fault.remedy}`);
  }

  const demandStandbys = standbysDemand(standbysMin);
  async function promised<T>(work: (query: Query) => Promise<T>): Promise<T> {
    if (standbysMin === 0) return pool.run(work);
    const { result, names } = await pool.run(async (query) => {
      const names = query.readStandbys();
      return { result: await work(query), names };
    });
    demandStandbys(names);
    return result;
  }
  const store: Store = {
    ...readerOn(location, connector, pool),
    batchesMax: Math.max(1, connectionsPerThread - 1),
    async createPlants(plants) {
      if (Atomics.load(faulty, 0) > 0)
        throw new StoreError('unavailable', 'the last test write was not stored as it was sent');
      const own = { ...context, searchEndMs: performance.now() + callMs / 2 };
      const create = (query: Query) => createPlants(query, plants, Date.now(), own);
      return measured(measures, promised(create));
    },
    ...callsOf(changes, (begin) => pool.run((query) => runChange(query, begin()))),
    async beat(atMs) {
      await testAgain();
      durability = durabilityUnder(await promised((query) => beat(query, node, atMs)));
    },
  };
  return { pool, store, durability: () => durability, pooler: () => pooler };
}

/**
 * A row for each node: no node waits. `forgetOldBeats` removes rows of stopped nodes.
 *
 * @returns the settings that hold now: a reload may have changed them
 */
async function beat(query: Query, node: bigint, atMs: number): Promise<DurabilitySettings> {
  const { rows } = await query(
    `INSERT INTO heartbeat (node, beaten_at) VALUES ($1, $2) ON CONFLICT (node) DO UPDATE
      SET beaten_at = excluded.beaten_at
      RETURNING current_setting('fsync'), current_setting('full_page_writes'),
        ${standbyNames}`,
    [node, atMs],
  );
  const [fsync, fullPageWrites, synchronousStandbyNames] = rows[0] as [string, string, string];
  return { fsync, fullPageWrites, synchronousStandbyNames };
}

async function forgetOldBeats(query: Query, nowMs: number): Promise<void> {
  // One far in the future is of a clock that was ahead, and would hide the last one.
  await query('DELETE FROM heartbeat WHERE NOT beaten_at BETWEEN $1 AND $2', [
    nowMs - limits.postgres.heartbeatKeptMs,
    nowMs + limits.postgres.heartbeatKeptMs,
  ]);
}
