import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleClient } from '../../../packaging/client.ts';
import { oneThread, startServer, temporaryFolder, token } from '../../../test/helpers/program.ts';
import { storedPlants } from '../../../test/helpers/store-file.ts';
import { type Fault, faultNames, startLyingNetwork } from './lying-network.ts';
import { type Runtime, runtimes } from './runtimes.ts';

/** `npm run torture:client` sets more. */
const creates = Number(process.env['CREATES'] ?? 200);
const kills = Math.ceil(creates / 5_000);
const linesPerKill = Math.ceil(creates / (kills + 1));
/** One request in this many meets a fault: more in a short run, so that each fault comes. */
const requestsPerFault = Math.min(20, Math.floor(creates / (2 * faultNames.length)));

/** A line of `workload.js`. */
interface Line {
  readonly id: string;
  readonly name: string;
  readonly tag?: string;
  readonly outcome: 'stored' | 'refused' | 'unknown';
  readonly code?: number;
}

for (const [name, runtime] of Object.entries(runtimes)) {
  const title = `${name}: ${creates} creates through resets, lies and restarts, each reported as it is`;
  test(title, { skip: runtime.missing ?? false }, (t) => assertReported(t, runtime));
}

/**
 * Lets a client create plants through a network that lies, in a service that is killed meanwhile,
 * and compares what the client has reported with what is stored.
 */
async function assertReported(t: TestContext, runtime: Runtime): Promise<void> {
  const folder = await temporaryFolder(t);
  const store = join(folder, 'plants.db');
  let server = await startServer(t, store, oneThread);
  const { port } = server;
  let restarted = Promise.resolve();
  const restart = async () => {
    await server.stop('SIGKILL');
    server = await startServer(t, store, [...oneThread, '--port', `${port}`]);
  };
  await bundleClient(join(folder, 'client.js'));
  copyFileSync(join(import.meta.dirname, 'workload.js'), join(folder, 'workload.js'));

  const met = new Set<Fault>();
  let requests = 0;
  const choose = () => {
    requests += 1;
    if (requests % requestsPerFault > 0) return undefined;
    const fault = faultNames[(requests / requestsPerFault) % faultNames.length] as Fault;
    met.add(fault);
    return fault;
  };
  const url = await startLyingNetwork(t, port, choose, (path) =>
    path === '/'
      ? new Response('<!doctype html><link rel="icon" href="data:,">', typed('text/html'))
      : new Response(readFileSync(join(folder, path)), typed('text/javascript')),
  );

  const lines: Line[] = [];
  await runtime.run(t, folder, { url, token, count: creates }, (line) => {
    lines.push(JSON.parse(line));
    if (lines.length % linesPerKill === 0) restarted = restarted.then(restart);
  });
  await restarted;
  await server.stop();
  assert.deepEqual([...violationsOf(lines, store)].slice(0, 10), []);
  assert.deepEqual([...met].sort(), faultNames.toSorted());
}

const typed = (type: string) => ({ headers: { 'Content-Type': type } });

function* violationsOf(lines: readonly Line[], store: string): Generator<string> {
  if (lines.length !== creates) yield `${lines.length} outcomes of ${creates} creates`;
  const key = (id: string | bigint, name: string, tag?: string | null) =>
    JSON.stringify([`${id}`, name, tag ?? null]);
  const stored = new Set(storedPlants(store).map(([id, name, tag]) => key(id, name, tag)));
  const outcomes = new Set(lines.map(({ outcome, code = '' }) => `${outcome} ${code}`.trimEnd()));
  const wanted = new Set(['stored', 'refused 40003', 'refused 40004']);
  for (const outcome of outcomes.symmetricDifference(wanted))
    yield `wrongly there or not: ${outcome}`;
  const sent = new Set(lines.map(({ id, name, tag }) => key(id, name, tag)));
  for (const plant of stored.difference(sent)) yield `never sent: ${plant}`;
  for (const { id, name, tag, outcome, code } of lines) {
    const isStored = stored.has(key(id, name, tag));
    if (isStored !== (outcome === 'stored'))
      yield `${outcome} ${code}, but is stored: ${isStored}: ${id}`;
  }
}
