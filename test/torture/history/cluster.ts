import { type Pooler, startPooler } from '../../helpers/poolers.ts';
import {
  nameOfDatabase,
  type PostgresServer,
  startPostgres,
  startStandby,
} from '../../helpers/postgres.ts';
import { waitForStandby } from '../../helpers/postgres-pair.ts';
import { type Owner, startImpatient } from '../../helpers/program.ts';
import { startProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts';
import { type Fault, type NodeSetting, type Setting, untilRefused } from './faults.ts';
import { plantsIn } from './stored.ts';

/** A server, and the ways to it. */
interface Place {
  server: PostgresServer;
  readonly ofMost: TcpProxy;
  readonly ofLone: TcpProxy;
  readonly ofStandby: TcpProxy;
}

/**
 * A primary with its standby and three nodes, which know both: one by itself, one through a
 * PgBouncer for each, and a lone one, on ways of its own.
 */
export interface Cluster extends Omit<Setting & NodeSetting, 'load' | 'victim' | 'upTo'> {
  readonly primary: Place;
  readonly standby: Place;
  readonly poolers: readonly Pooler[];
  /** The standby is the primary from now on; the old one goes on if it can. */
  promote(): Promise<void>;
  /** Ends an old primary, and starts a standby in its place. */
  repair(): Promise<void>;
  readStore(): ReturnType<typeof plantsIn>;
}

export interface ClusterOptions {
  /** Whether commits wait for the standby. */
  readonly isSynchronous: boolean;
  readonly faultMs: number;
  /** Of each node. */
  readonly args: readonly string[];
}

const lone = 2;

export async function startCluster(
  owner: Owner,
  { isSynchronous, faultMs, args }: ClusterOptions,
): Promise<Cluster> {
  let primary = await placeOf(owner, await startPostgres(owner));
  const database = nameOfDatabase(await primary.server.makeDatabase());
  let standby = await placeOf(owner, await standbyOf(owner, primary));
  let hasStandby = true;
  if (isSynchronous) await waitForStandby(primary.server);

  const places = [primary, standby];
  const urlTo = (...ports: readonly number[]) =>
    `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`)}/${database}`;
  const poolers = await Promise.all(
    places.map(({ ofMost }) => startPooler(owner, 'pgbouncer', urlTo(ofMost.port))),
  );
  const urls = [
    urlTo(...places.map(({ ofMost }) => ofMost.port)),
    urlTo(...poolers.map(({ url }) => Number(new URL(url).port))),
    urlTo(...places.map(({ ofLone }) => ofLone.port)),
  ];
  const startNode = (index: number, ...more: string[]) =>
    startImpatient(owner, urls[index] ?? '', [...args, ...more]);

  return {
    get primary() {
      return primary;
    },
    get standby() {
      return standby;
    },
    get database() {
      return primary.server;
    },
    get proxy() {
      return both(primary.ofMost, primary.ofLone);
    },
    poolers,
    faultMs,
    startNode,
    nodes: await Promise.all(urls.map((_, index) => startNode(index))),
    async promote() {
      await standby.server.query('SELECT pg_promote()');
      [primary, standby] = [standby, primary];
      hasStandby = false;
    },
    async repair() {
      if (hasStandby) return;
      await standby.server.kill();
      const { port } = standby.server;
      standby.server = await standbyOf(owner, primary, port);
      if (isSynchronous) await waitForStandby(primary.server);
      hasStandby = true;
    },
    readStore: () => plantsIn(urlTo(primary.server.port)),
  };
}

async function placeOf(owner: Owner, server: PostgresServer): Promise<Place> {
  const [ofMost, ofLone, ofStandby] = await Promise.all([
    startProxy(owner, server.port),
    startProxy(owner, server.port),
    startProxy(owner, server.port),
  ]);
  return { server, ofMost, ofLone, ofStandby };
}

function standbyOf(owner: Owner, { server, ofStandby }: Place, port?: number) {
  return startStandby(owner, server, {
    primary_conninfo: `host=127.0.0.1 port=${ofStandby.port} user=postgres`,
    ...(port !== undefined && { port: `${port}` }),
  });
}

function both(...proxies: readonly TcpProxy[]): Setting['proxy'] {
  return {
    swallow: (what) => proxies.forEach((proxy) => void proxy.swallow(what)),
    delayReplies: () => proxies.forEach((proxy) => void proxy.delayReplies()),
    heal: () => proxies.forEach((proxy) => void proxy.heal()),
  };
}

type ClusterFault = Fault<Cluster & NodeSetting>;

export const clusterFaults: Readonly<Record<string, ClusterFault>> = {
  async 'the primary is killed, and its standby promoted'(cluster) {
    await cluster.database.kill();
    await untilRefused(cluster);
    await cluster.promote();
  },
  async 'the primary stands still, and comes back when its standby is promoted'(cluster) {
    const { database } = cluster;
    database.pause();
    await untilRefused(cluster);
    await cluster.promote();
    database.resume();
  },
  async 'a partition leaves the old primary to one node'(cluster) {
    const { primary, standby, nodes, load } = cluster;
    const ways = [primary.ofMost, primary.ofStandby, standby.ofLone];
    for (const way of ways) way.swallow('everything');
    await cluster.promote();
    const most = nodes.filter((_, index) => index !== lone);
    await Promise.all([
      load.acknowledged(20, most),
      ...nodes.slice(lone).map((node) => load.refused(5, node)),
    ]);
    await primary.server.kill();
    for (const way of ways) way.heal();
  },
  async 'PgBouncer is killed'({ poolers, nodes, load }) {
    await Promise.all(poolers.map(({ kill }) => kill()));
    await untilRefused({ nodes: nodes.slice(1, lone), load });
    await Promise.all(poolers.map(({ start }) => start()));
  },
};

/** What is acknowledged is lost, unless commits wait for the standby. */
export const lossFaults: Readonly<Record<string, ClusterFault>> = {
  async 'a standby that has fallen behind is promoted'(cluster) {
    const { primary, load } = cluster;
    primary.ofStandby.swallow('everything');
    await load.acknowledged(20);
    await cluster.database.kill();
    await untilRefused(cluster);
    await cluster.promote();
    primary.ofStandby.heal();
  },
};
