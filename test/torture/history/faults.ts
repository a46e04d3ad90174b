import assert from 'node:assert/strict';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { changesIn, killedAt } from '../../helpers/kill.ts';
import type { PostgresServer } from '../../helpers/postgres.ts';
import type { RunningServer } from '../../helpers/program.ts';
import type { TcpProxy } from '../../helpers/tcp-proxy.ts';
import type { Load } from './load.ts';

/** Nodes under load. */
export interface NodeSetting {
  readonly nodes: RunningServer[];
  /** Starts another one like that of the index. */
  readonly startNode: (index: number, ...args: string[]) => Promise<RunningServer>;
  readonly load: Load;
  /** The index of the node to which harm is done. */
  readonly victim: number;
  /** A whole number from 0 on, below `max`. */
  readonly upTo: (max: number) => number;
}

/** What is at hand to do harm to. */
export interface Setting extends Pick<NodeSetting, 'nodes' | 'load'> {
  readonly database: PostgresServer;
  /** All nodes are behind it. */
  readonly proxy: Pick<TcpProxy, 'swallow' | 'delayReplies' | 'heal'>;
  /** How long a fault goes on that does not end by itself. */
  readonly faultMs: number;
}

/** Does harm, and resolves as soon as the database is back. */
export type Fault<S = Setting> = (setting: S) => Promise<void>;

export const databaseFaults: Readonly<Record<string, Fault>> = {
  'the database is killed': killDatabase,
  async 'the database is restarted'({ database }) {
    await database.stop('fast');
    await database.start();
  },
  async 'the database stands still'({ database, faultMs }) {
    database.pause();
    await delay(faultMs);
    database.resume();
  },
  async 'the database ends its connections'({ database }) {
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
    );
  },
};

export const networkFaults: Readonly<Record<string, Fault>> = {
  async 'the replies of the database are lost'({ proxy, ...setting }) {
    proxy.swallow('replies');
    await untilRefused(setting);
    proxy.heal();
  },
  async 'everything between the nodes and the database is lost'({ proxy, ...setting }) {
    proxy.swallow('everything');
    await untilRefused(setting);
    proxy.heal();
  },
  async 'the replies of the database are late'({ proxy, ...setting }) {
    proxy.delayReplies();
    await untilRefused(setting);
    proxy.heal();
  },
};

export const nodeFaults: Readonly<Record<string, Fault<NodeSetting>>> = {
  async 'a node is killed, and another takes its place'({ nodes, victim, load, startNode }) {
    await nodes[victim]?.stop('SIGKILL');
    const next = await startNode(victim);
    nodes[victim] = next;
    load.add(next);
  },
  async 'another node takes over the port of a node'({ nodes, victim, load, startNode }) {
    const before = nodes[victim] ?? assert.fail();
    const next = await startNode(victim, '--port', `${before.port}`, '--reuse-port');
    nodes[victim] = next;
    load.add(next);
    assert.equal(await before.stop(), 0);
  },
};

/** Of the nodes of a store in a file. What they have written is all that the next ones have. */
export const storeFaults: Readonly<Record<string, Fault<NodeSetting & { store: string }>>> = {
  async 'all nodes are killed at a change of the store, and the next start, too'(setting) {
    const { nodes, load, startNode, store, upTo } = setting;
    await changesIn(dirname(store), 1 + upTo(300));
    await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
    await killedAt(changesIn(dirname(store), 1 + upTo(6)), store);
    for (const index of nodes.keys()) {
      const next = await startNode(index);
      nodes[index] = next;
      load.add(next);
    }
  },
};

/** Shorter than clients of a node may have to wait. */
const nodeStandsStillMs = 3_000;

/** Until such a node has read its tokens again, it judges no token that it does not know. */
export const stillNodeFaults: Readonly<Record<string, Fault<NodeSetting>>> = {
  async 'a node stands still'({ nodes, victim }) {
    const { child } = nodes[victim] ?? assert.fail();
    child.kill('SIGSTOP');
    await delay(nodeStandsStillMs);
    child.kill('SIGCONT');
  },
};

export async function killDatabase({
  database,
  ...setting
}: Pick<Setting, 'database' | 'nodes' | 'load'>): Promise<void> {
  await database.kill();
  await untilRefused(setting);
  await database.start();
}

/**
 * Where the database has a small disk of its own: fills it, until the database has nowhere to put a
 * plant.
 */
export async function fillDisk({
  database,
  ...setting
}: Pick<Setting, 'database' | 'nodes' | 'load'>): Promise<void> {
  const ballast = join(database.folder, '..', 'ballast');
  const { bavail, bsize } = statfsSync(database.folder);
  // The database writes, too, and may have less left.
  const written = writeFile(ballast, Buffer.alloc(bavail * bsize));
  await written.catch(({ code }) => assert.equal(code, 'ENOSPC'));
  await untilRefused(setting);
  rmSync(ballast);
  // It ends itself if it finds no room for its log, as it cannot go on without.
  if (!existsSync(join(database.folder, 'postmaster.pid'))) await database.start();
}

export async function untilRefused({
  nodes,
  load,
}: Pick<Setting, 'nodes' | 'load'>): Promise<void> {
  await Promise.all(nodes.map((node) => load.refused(3, node)));
}
