import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../../helpers/postgres.ts';
import type { RunningServer } from '../../helpers/program.ts';
import type { TcpProxy } from '../../helpers/tcp-proxy.ts';
import type { Load } from './load.ts';

/** What is at hand to do harm to. */
export interface Setting {
  readonly database: PostgresServer;
  /** All nodes are behind it. */
  readonly proxy: TcpProxy;
  /** Those under load. */
  readonly nodes: RunningServer[];
  readonly startNode: () => Promise<RunningServer>;
  readonly load: Load;
  /** How long a fault goes on that does not end by itself. */
  readonly faultMs: number;
}

/** Does harm, and resolves as soon as the database is back. */
export type Fault = (setting: Setting) => Promise<void>;

export const databaseFaults: Readonly<Record<string, Fault>> = {
  async 'the database is killed'({ database, ...setting }) {
    await database.kill();
    await untilRefused(setting);
    await database.start();
  },
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

/** Shorter than clients of a node may have to wait. */
const nodeStandsStillMs = 3_000;

export const nodeFaults: Readonly<Record<string, Fault>> = {
  async 'a node is killed, and another takes its place'({ nodes, load, startNode }) {
    await nodes.shift()?.stop('SIGKILL');
    const next = await startNode();
    nodes.push(next);
    load.add(next);
  },
  async 'a node stands still'({ nodes }) {
    const child = nodes[0]?.child;
    child?.kill('SIGSTOP');
    await delay(nodeStandsStillMs);
    child?.kill('SIGCONT');
  },
};

/**
 * Where the database has a small disk of its own: fills it, until the database has nowhere to put a
 * plant.
 */
export async function fillDisk({ database, ...setting }: Setting): Promise<void> {
  const ballast = join(database.folder, '..', 'ballast');
  const { bavail, bsize } = statfsSync(database.folder);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize));
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
