import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Limits } from '../../src/limits.ts';
import { readStore } from '../torture/check-journal.ts';
import {
  create,
  createdAtLast,
  type Owner,
  oneThread,
  type RunningServer,
  type ServerWithStore,
  startServer,
  temporaryFolder,
  token,
  withSabotage,
} from './program.ts';

/** By part. JSON has no infinity, and none is needed. */
type Changed = { readonly [P in keyof Limits]?: Partial<Limits[P]> };

export const quickHeartbeats: Changed = { ops: { heartbeatEveryMs: 100, heartbeatStaleMs: 1_000 } };
/** The next transaction is a create. */
export const rareHeartbeats: Changed = {
  ops: { heartbeatEveryMs: 3_600_000, heartbeatStaleMs: 7_200_000 },
};

/** The log of the store is checkpointed after a few pages, and soon at its limit. */
export const smallLog: Changed = {
  sqlite: {
    ...{ checkpointPages: 10, readersEveryMs: 100 },
    ...{ walBytesKept: 2 ** 18, walBytesMax: 2 ** 22 },
  },
};

/** Connections are given up soon. */
export const impatient: Changed = {
  http: { headersMs: 200, idleMs: 400, handshakeMs: 400, expiryCheckMs: 50 },
};

/** By what is done to a server: the limits with which it shows soon. */
const limitsOf: Readonly<Record<string, Changed>> = {
  'HTTP thread hangs': quickHeartbeats,
  'disk hangs': quickHeartbeats,
  'disk hangs for good': { service: { drainMs: 1_000 } },
  'sync of the store hangs': { ...smallLog, ...quickHeartbeats },
  'index is removed during a checkpoint': { ...smallLog, ...rareHeartbeats },
  'thread for checkpoints ends': smallLog,
  'thread for checkpoints throws': smallLog,
  'memory is told': { ops: { refusalsKept: 10 } },
};

/** The environment of a server that `sabotage.ts` harms, there under SABOTAGE and SABOTAGE_WHILE. */
export function sabotaging(kind: string, whileFile = ''): Readonly<Record<string, string>> {
  return { ...withLimits(limitsOf[kind] ?? {}), SABOTAGE: kind, SABOTAGE_WHILE: whileFile };
}

/** The environment of a server with other limits. */
export function withLimits(changed: Changed): Readonly<Record<string, string>> {
  return {
    PLANT_STORE_TOKEN: token,
    NODE_OPTIONS: withSabotage,
    CHANGED_LIMITS: JSON.stringify(changed),
  };
}

export const plant = (id: number) => ({ id, name: `Plant ${id}` });

export async function statusAndCode(
  reply: Response,
): Promise<readonly [number, number | undefined]> {
  const { error } = (await reply.json()) as { error?: number };
  return [reply.status, error];
}

/** For a server that has received no signal to stop. */
export async function assertEndsByItself(server: RunningServer, says: RegExp): Promise<void> {
  const { child } = server;
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  // By SIGKILL if a thread that has ended keeps the others from their end.
  assert([1, 'SIGKILL'].includes(child.exitCode ?? child.signalCode ?? ''));
  assert.match(server.stderr(), says);
  assert.match(server.stderr(), /the service cannot go on/);
  assert.doesNotMatch(server.stderr(), /the service does not stop by itself/);
}

/** A server on a new store that can be sabotaged from within. @see sabotage.ts */
export async function startSabotaged(owner: Owner, kind: string, ...args: string[]) {
  const folder = await temporaryFolder(owner);
  const store = join(folder, 'plants.db');
  const flag = join(folder, 'sabotage');
  const variables = sabotaging(kind, flag);
  const threads = args.includes('--http-threads') ? [] : oneThread;
  const server = await startServer(owner, store, [...threads, ...args], variables);
  await createdAtLast(server.plantsUrl, plant(1));
  return { ...server, store, sabotage: () => writeFileSync(flag, ''), heal: () => rmSync(flag) };
}

/** Of the file, since a retry stores again what was lost. A create whose reply was lost may be stored. */
export function assertNothingIsLost(
  { store }: ServerWithStore,
  sent: readonly number[],
  acknowledged: readonly number[],
): void {
  const faults: string[] = [];
  const kept = new Set([...readStore(store, faults).keys()].map(Number));
  const lost = acknowledged.filter((id) => !kept.has(id));
  const strange = [...kept.difference(new Set(sent))];
  assert.deepEqual([faults, lost, strange], [[], [], []]);
}

/** Creates plants until the server ends of what it was told to be. Nothing acknowledged is lost. */
export async function assertEndsUnderLoad(server: ServerWithStore, says: RegExp): Promise<void> {
  const sent: number[] = [];
  const acknowledged: number[] = [];
  for (let id = 1; server.child.exitCode === null && id < 1_000; id += 1) {
    sent.push(id);
    const reply = await create(server.plantsUrl, plant(id)).catch(() => undefined);
    if (reply?.status === 200) acknowledged.push(id);
  }
  await assertEndsByItself(server, says);
  assertNothingIsLost(server, sent, acknowledged);
}
