import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bundleClient } from '../../packaging/client.ts';
import { languages } from '../../src/api/reference/page/samples.ts';
import { isHere } from '../helpers/compilers.ts';
import { root } from '../helpers/pages.ts';
import { oneThread, startServerOnNewStore, temporaryFolder, token } from '../helpers/program.ts';
import { skipsAreForbidden } from '../helpers/skips.ts';
import { storedPlants } from '../helpers/store-file.ts';

const run = promisify(execFile);

/** How each sample is run, as the file of this name. */
const ways = {
  curl: ['sample.sh', 'bash', 'sample.sh'],
  javascript: ['sample.mjs', process.execPath, 'sample.mjs'],
  python: ['sample.py', 'python3', 'sample.py'],
} as const;

const name = 'O\'Hara "🌲 \\u0041" \\n';

test('the samples of the reference page create the plant, with its exact id', async (t) => {
  const { plantsUrl, store } = await startServerOnNewStore(t, ...oneThread);
  const folder = await temporaryFolder(t);
  const client = join(folder, 'node_modules/plant-store-client');
  await bundleClient(join(client, 'dist/index.js'));
  await copyFile(join(root, 'clients/typescript/package.json'), join(client, 'package.json'));

  const expected: [bigint, string, string | null][] = [];
  for (const [index, [language, way]] of Object.entries(ways).entries()) {
    const [file, program, ...args] = way;
    if (!isHere(program)) {
      const why = `${program} is not installed: the sample in ${language} was not run`;
      assert(!skipsAreForbidden, why);
      t.diagnostic(why);
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
    assert.match(stdout, new RegExp(`${id}`), language);
    expected.push([id, name, tag ?? null]);
  }
  assert(expected.length >= 2);
  assert.deepEqual(storedPlants(store), expected);
});
