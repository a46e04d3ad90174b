import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { type Fault, startLyingNetwork } from '../clients/typescript/test/lying-network.ts';
import { isHere, withGoCache } from './helpers/compilers.ts';
import { listenFor } from './helpers/free-port.ts';
import { root } from './helpers/pages.ts';
import {
  type Ended,
  oneThread,
  startServerOnNewStore,
  temporaryFolder,
} from './helpers/program.ts';
import { skipVisibly } from './helpers/skips.ts';
import { storedPlants } from './helpers/store-file.ts';
import { storedToken } from './helpers/stored-token.ts';

const examples = join(root, 'docs/use/examples');
const built = await temporaryFolder({ after });

/** A short program ends before the machine has compiled it well, and needs no parallel collector. */
const forShortRuns = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** The programs of the page "Write a client", which take an id, a name and a tag. */
const programs = {
  curl: { compile: ['curl', '--version'], run: ['bash', join(examples, 'create_plant.sh')] },
  Python: {
    compile: ['python3', '--version'],
    run: ['python3', join(examples, 'create_plant.py')],
  },
  Go: {
    compile: ['go', 'build', '-o', join(built, 'go'), join(examples, 'create_plant.go')],
    run: [join(built, 'go')],
  },
  Java: {
    compile: [
      'javac',
      ...forShortRuns.map((option) => `-J${option}`),
      '-d',
      built,
      join(examples, 'CreatePlant.java'),
    ],
    run: ['java', ...forShortRuns, '-cp', built, 'CreatePlant'],
  },
} as const;

/** Each fault that a client may retry, and then none. */
const faults: readonly Fault[] = [
  'reset before the commit',
  '503 with Retry-After',
  'reset after the commit',
  '429 of a proxy',
  '502 with HTML, after the commit',
];
const largestId = '9223372036854775807';
const name = 'Oak "English" \\ 🌱';

describe('the example for', { concurrency: true }, () => {
  for (const [language, { compile, run }] of Object.entries(programs))
    test(`${language} stores a plant with every digit of its id, through all faults`, async (t) => {
      if (!isHere(compile[0])) return skipVisibly(t, `there is no ${compile[0]}`);
      build(compile);
      const { store, port } = await startServerOnNewStore(t, ...oneThread);
      const token = await storedToken(store, 'steady');
      const limited = await storedToken(store, 'limited', { rate: { perDay: 86_400, burst: 1 } });
      const planned: (Fault | undefined)[] = [];
      let requests = 0;
      const address = await startLyingNetwork(t, port, () => {
        requests += 1;
        return planned.shift();
      });
      const create = (args: readonly string[], bearer = token) =>
        runProgram(run, args, { URL: address, TOKEN: `${bearer}\n` });

      planned.push(...faults);
      const created = await create([largestId, name, 'Quercus']);
      assert.deepEqual(created, { code: 0, stdout: `stored: ${largestId}\n`, stderr: '' });
      assert.equal(requests, faults.length + 1);
      const stored = [[BigInt(largestId), name, 'Quercus']];
      assert.deepEqual(storedPlants(store), stored);

      const refused = await create([largestId, 'Elm']);
      assert.deepEqual([refused.code, refused.stdout], [1, '']);
      assert.match(
        refused.stderr,
        /^not stored: .*40004.*The id 9223372036854775807 belongs.*request [0-9a-f]{14}-/,
      );

      planned.push('200 of something else');
      const unknown = await create(['1', 'Elm']);
      assert.deepEqual([unknown.code, unknown.stdout], [2, '']);
      assert.deepEqual(storedPlants(store), stored);

      const misused = await create(['1']);
      assert.equal(misused.code, 1);
      assert.match(misused.stderr, /create_?plant(\.\w+)? ID NAME \[TAG\]\n/i);
      assert.doesNotMatch(misused.stderr, /Traceback|Exception/);

      // The token may send one create a second, and Retry-After says when.
      requests = 0;
      for (const id of ['1', '2']) assert.equal((await create([id, 'Elm'], limited)).code, 0);
      assert(requests <= 3, `${requests} requests`);
    });
});

test('the example for Python keeps its connection open', async (t) => {
  if (!isHere('python3')) return skipVisibly(t, 'there is no python3');
  let connections = 0;
  const server = createServer(async (request, response) => {
    const { id } = (await json(request)) as { id: number };
    response.writeHead(200, { 'Plant-Id': `${id}` }).end('{}');
  }).on('connection', () => (connections += 1));
  const variables = { URL: `http://127.0.0.1:${await listenFor(t, server)}`, PYTHONPATH: examples };
  const creates = `
import os, create_plant
store = create_plant.PlantStore(os.environ["URL"], "secret")
for number in range(20):
    store.create_plant({"id": number, "name": "Elm"})
`;
  const ended = await runProgram(['python3', '-B', '-c', creates], [], variables);
  assert.deepEqual(ended, { code: 0, stdout: '', stderr: '' });
  assert.equal(connections, 1);
});

function build([program, ...args]: readonly string[]): void {
  const { status, stderr } = spawnSync(`${program}`, args, { env: withGoCache, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

function runProgram(
  [program, ...options]: readonly string[],
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Ended> {
  const env = { ...process.env, ...variables };
  return new Promise((resolve) => {
    execFile(`${program}`, [...options, ...args], { env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : (error.code as unknown as number);
      resolve({ code, stdout, stderr });
    });
  });
}
