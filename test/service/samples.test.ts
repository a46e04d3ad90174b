import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bundleClient } from '../../packaging/client.ts';
import { languages } from '../../src/api/reference/page/samples.ts';
import { root } from '../helpers/pages.ts';
import { oneThread, startServerOnNewStore, temporaryFolder, token } from '../helpers/program.ts';
import { storedPlants } from '../helpers/store-file.ts';

const run = promisify(execFile);

/** How each sample is run, as the file of this name. */
const ways = {
  curl: ['sample.sh', 'bash', 'sample.sh'],
  javascript: ['sample.mjs', process.execPath, 'sample.mjs'],
  python: ['sample.py', 'python3', 'sample.py'],
  // The compiler of Go takes half a minute on a new machine: this checks the syntax only.
  go: ['sample.go', 'gofmt', '-l', '-e', 'sample.go'],
  java: ['CreatePlant.java', 'java', 'CreatePlant.java'],
} as const;

const name = 'O\'Hara "🌲" \\n';
const stores = ['curl', 'javascript', 'python', 'java'];

test('the samples of the reference page create the plant, with its exact id', async (t) => {
  const { plantsUrl, store } = await startServerOnNewStore(t, ...oneThread);
  const folder = await temporaryFolder(t);
  const client = join(folder, 'node_modules/plant-store-client');
  await bundleClient(join(client, 'dist/index.js'));
  await copyFile(join(root, 'clients/typescript/package.json'), join(client, 'package.json'));

  const expected: [bigint, string, string | null][] = [];
  for (const [index, [language, way]] of Object.entries(ways).entries()) {
    const [file, program, ...args] = way;
    if (spawnSync(program, ['--help']).error) {
      t.diagnostic(`${program} is not installed: the sample in ${language} was not run`);
      continue;
    }
    const id = 9_223_372_036_854_775_000n + BigInt(index);
    const tag = index % 2 === 0 ? undefined : '';
    const rest = JSON.stringify({ name, tag }).slice(1);
    const create = {
      address: plantsUrl,
      token,
      id: `${id}`,
      name,
      tag,
      body: `{"id":${id},${rest}`,
    };
    await writeFile(join(folder, file), languages[language]?.sample(create) ?? '');
    const { stdout } = await run(program, args, { cwd: folder });
    if (stores.includes(language)) {
      assert.match(stdout, new RegExp(`${id}`), language);
      expected.push([id, name, tag ?? null]);
    } else assert.equal(stdout, '');
  }
  assert(expected.length >= 2);
  assert.deepEqual(storedPlants(store), expected);
});
