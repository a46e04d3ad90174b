/**
 * `npm run clients -- [NAME...]`: makes a client of docs/openapi.json for each language, compiles the
 * client, and runs the program that uses the client against a service of its own. A tool that the
 * machine lacks is reported, and is no failure.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startServerOnNewStore, token } from '../../test/helpers/program.ts';
import { storedPlants } from '../../test/helpers/store-file.ts';
import { type Client, clients, setUp } from './clients.ts';

const root = join(import.meta.dirname, '../..');
const stepMs = 15 * 60_000;
const largestId = 2n ** 63n - 1n;
const conflict = `ID_TAKEN The id ${largestId} belongs to a plant with another name or tag.`;

const names = process.argv.slice(2);
const unknown = names.filter((name) => !clients.some((client) => client.name === name));
if (unknown.length > 0) throw new Error(`there is no client ${unknown.join(' or ')}`);
for (const client of clients) {
  if (names.length > 0 && !names.includes(client.name)) continue;
  const fault = await faultOf(client);
  console.log(`${client.name}: ${fault ?? 'stores 2^63-1 exactly, and reads Plant-Id and errors'}`);
  if (fault?.startsWith('failed')) process.exitCode = 1;
}

async function faultOf({
  name,
  compiler,
  generate,
  compile,
  run,
}: Client): Promise<string | undefined> {
  const missing = ['mvn', compiler].find((tool) => spawnSync('which', [tool]).status !== 0);
  if (missing !== undefined) return `not tried: this machine has no ${missing}`;
  const at = join(root, '.cache/clients', name);
  rmSync(at, { recursive: true, force: true });
  mkdirSync(dirname(at), { recursive: true });
  cpSync(join(import.meta.dirname, name), at, { recursive: true });
  copyFileSync(join(root, 'docs/openapi.json'), join(at, 'openapi.json'));
  for (const step of [setUp, generate, compile]) {
    const { status, stdout, stderr } = bash(at, step);
    if (status !== 0) return `failed: ${step}\n${stdout}${stderr}`;
  }
  return faultOfProgram(at, run);
}

/** Runs the program against a service with an empty store. */
async function faultOfProgram(at: string, command: string): Promise<string | undefined> {
  await using cleanups = new AsyncDisposableStack();
  const after = (cleanup: () => unknown) =>
    cleanups.defer(async () => {
      await cleanup();
    });
  const { plantsUrl, store } = await startServerOnNewStore({ after });
  const { stdout, stderr } = bash(at, command, { URL: dirname(plantsUrl), TOKEN: token });
  const [id, name] = storedPlants(store)[0] ?? [];
  const isStored = id === largestId && name === 'Oak';
  if (isStored && stdout.includes(`Plant-Id ${largestId}`) && stdout.includes(conflict))
    return undefined;
  return `failed: ${command}\n${stdout}${stderr}`;
}

function bash(cwd: string, command: string, variables: NodeJS.ProcessEnv = {}) {
  // Programs in Python have an environment of their own.
  const path = `${join(cwd, '.venv/bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, ...variables };
  const options = { cwd, env, encoding: 'utf8', timeout: stepMs, maxBuffer: 2 ** 28 } as const;
  return spawnSync('bash', ['-euc', command], options);
}
