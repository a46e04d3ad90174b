import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleClient } from '../../../packaging/client.ts';
import {
  type Owner,
  oneThread,
  startServer,
  temporaryFolder,
  token,
} from '../../../test/helpers/program.ts';
import { storedPlants } from '../../../test/helpers/store-file.ts';
import { seededRandom } from '../../../test/torture/workload.ts';
import { type Fault, faultNames, startLyingNetwork } from './lying-network.ts';
import type { Runtime } from './runtimes.ts';

/** A line of `workload.js`. */
interface Line {
  readonly id: string;
  readonly name: string;
  readonly tag?: string;
  readonly outcome: 'stored' | 'refused' | 'unknown';
  readonly code?: number;
}

export interface FaultyRun {
  readonly runtime: Runtime;
  readonly creates: number;
  /** Kills of the service, spread over the run. */
  readonly kills: number;
  readonly seed: number;
}

export interface Verdict {
  /** Plants by outcome, and by code if refused. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<Fault, number>;
  /** Plants that were lost, stored twice, or reported wrongly. */
  readonly violations: readonly string[];
}

/** One request in this many meets a fault, and more in a short run: each fault then comes, too. */
const requestsPerFaultMax = 20;

/**
 * Lets a client create plants through a network that lies, in a service that is killed meanwhile,
 * and compares what the client has reported with what is stored.
 */
export async function runThroughFaults(owner: Owner, run: FaultyRun): Promise<Verdict> {
  const folder = await temporaryFolder(owner);
  const store = join(folder, 'plants.db');
  let server = await startServer(owner, store, oneThread);
  const { port } = server;
  let restarted = Promise.resolve();
  const restart = async () => {
    await server.stop('SIGKILL');
    server = await startServer(owner, store, [...oneThread, '--port', `${port}`]);
  };

  const faults = new Map<Fault, number>();
  const client = join(folder, 'client.js');
  await bundleClient(client);
  const url = await startLyingNetwork(owner, port, chooser(run, faults), (path) =>
    path === '/client.js'
      ? { type: 'text/javascript', text: readFileSync(client, 'utf8') }
      : { type: 'text/html', text: '<!doctype html><link rel="icon" href="data:,">' },
  );

  const lines: Line[] = [];
  const options = { url, token, count: run.creates, machine: 7 };
  const linesPerKill = Math.ceil(run.creates / (run.kills + 1));
  await run.runtime.run(owner, client, options, (line) => {
    lines.push(JSON.parse(line));
    if (lines.length % linesPerKill === 0) restarted = restarted.then(restart);
  });
  await restarted;
  await server.stop();
  const outcomes = new Map<string, number>();
  for (const { outcome, code = '' } of lines) count(outcomes, `${outcome} ${code}`.trimEnd());
  return { outcomes, faults, violations: [...violationsOf(lines, run.creates, store)] };
}

/**
 * Meets requests with one fault after the other, at random distances of which none is so long that a
 * fault could be left out.
 *
 * @param faults counts the faults
 */
function chooser(
  { seed, creates }: Pick<FaultyRun, 'seed' | 'creates'>,
  faults: Map<Fault, number>,
): () => Fault | undefined {
  const random = seededRandom(seed);
  const meanGap = Math.min(requestsPerFaultMax, Math.floor(creates / (2 * faultNames.length)));
  const gap = () => 1 + Math.floor(random() * (2 * meanGap - 1));
  let chosen = 0;
  let requestsUntilNext = gap();
  return () => {
    requestsUntilNext -= 1;
    if (requestsUntilNext > 0) return undefined;
    requestsUntilNext = gap();
    const fault = faultNames[chosen++ % faultNames.length] as Fault;
    count(faults, fault);
    return fault;
  };
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function* violationsOf(lines: readonly Line[], creates: number, store: string): Generator<string> {
  if (lines.length !== creates) yield `${lines.length} outcomes of ${creates} creates`;
  const key = (id: string | bigint, name: string, tag?: string | null) =>
    JSON.stringify([`${id}`, name, tag ?? null]);
  const stored = new Set(storedPlants(store).map(([id, name, tag]) => key(id, name, tag)));
  const sent = new Set<string>();
  for (const { id, name, tag, outcome, code } of lines) {
    const plant = key(id, name, tag);
    sent.add(plant);
    const isStored = stored.has(plant);
    if (outcome === 'stored' && !isStored) yield `lost: ${plant}`;
    if (outcome === 'refused' && isStored) yield `refused with ${code}, and stored: ${plant}`;
    if (outcome === 'unknown') yield `unknown in spite of retries: ${plant}`;
  }
  for (const plant of stored) if (!sent.has(plant)) yield `never sent: ${plant}`;
}
