/**
 * `npm run clients -- [NAME...]`: makes a client of docs/openapi.json for each language with the
 * commands of docs/use/clients.md, compiles the client, and runs the program here that uses the
 * client against a service of its own. A tool that the machine lacks is reported, and is no failure.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { blocksUnder, root } from '../../test/helpers/pages.ts';
import { ownerOf, startServerOnNewStore, token } from '../../test/helpers/program.ts';
import { storedPlants } from '../../test/helpers/store-file.ts';

/** How a client is compiled, and the program in its folder here run. */
const clients = {
  java: {
    compiler: 'mvn',
    compile: 'mvn -q -f client compile dependency:copy-dependencies',
    run: "java -cp 'client/target/classes:client/target/dependency/*' CreatePlant.java",
  },
  go: {
    compiler: 'go',
    compile: 'rm -rf client/test && go build -o create-plant .',
    run: './create-plant',
  },
  python: {
    compiler: 'python3',
    compile: 'python3 -m venv .venv && pip install -q ./client',
    run: 'python create_plant.py',
  },
};

const shown = blocksUnder('docs/use/clients.md', 'Generated clients');
const [fetchGenerator = '', ...generate] =
  shown.find(({ language }) => language === 'bash')?.text.split('\n') ?? [];

const stepMs = 15 * 60_000;
const largestId = 2n ** 63n - 1n;
const conflict = `ID_TAKEN The id ${largestId} belongs to a plant with another name or tag.`;

const names = process.argv.slice(2);
for (const name of names) assert(name in clients, `there is no client ${name}`);
for (const [name, { compiler, compile, run }] of Object.entries(clients)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const missing = ['mvn', compiler].find((tool) => spawnSync('which', [tool]).status !== 0);
  if (missing !== undefined) {
    console.log(`${name}: not tried: this machine has no ${missing}`);
    continue;
  }
  const folder = join(root, '.cache/clients', name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(import.meta.dirname, name), folder, { recursive: true });
  copyFileSync(join(root, 'docs/openapi.json'), join(folder, 'openapi.json'));
  const ofLanguage = generate.find((line) => line.includes(` -g ${name}`)) ?? assert.fail(name);
  for (const step of [fetchGenerator, ofLanguage, compile]) bash(folder, step);
  await runProgram(folder, run);
  console.log(`${name}: stores 2^63-1 exactly, and reads Plant-Id and errors`);
}

/** Runs the program against a service with an empty store. */
async function runProgram(folder: string, command: string): Promise<void> {
  await using cleanups = new AsyncDisposableStack();
  const { plantsUrl, store } = await startServerOnNewStore(ownerOf(cleanups));
  const printed = bash(folder, command, { URL: dirname(plantsUrl), TOKEN: token });
  assert.deepEqual(storedPlants(store), [[largestId, 'Oak', null]]);
  for (const line of [`Plant-Id ${largestId}`, conflict]) assert(printed.includes(line), printed);
}

/** @throws if the command fails */
function bash(cwd: string, command: string, variables: NodeJS.ProcessEnv = {}): string {
  // Programs in Python have an environment of their own.
  const path = `${join(cwd, '.venv/bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, ...variables };
  const options = { cwd, env, encoding: 'utf8', timeout: stepMs, maxBuffer: 2 ** 28 } as const;
  const { status, stdout, stderr } = spawnSync('bash', ['-euc', command], options);
  assert.equal(status, 0, `${command}\n${stdout}${stderr}`);
  return stdout;
}
