import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packClient } from '../../../packaging/client.ts';
import { blocksOf, root } from '../../../test/helpers/pages.ts';
import { temporaryFolder } from '../../../test/helpers/program.ts';

const run = promisify(execFile);

/** What the types must refuse. */
const mistakes = [
  `void store.createPlant({ id: '1', name: '' });`,
  `void store.createPlant({ id: 1n });`,
  `void store.createPlant({ id: 1n, name: '', tags: '' });`,
  `void store.createPlant({ id: 1n, name: '', tag: null });`,
  `createClient({ url: 'http://127.0.0.1' });`,
  `void store.createPlants({ id: 1n, name: '' });`,
  `void store.createPlants([], { onRefusal: 'ignore' });`,
  `export const unknownCode: ErrorCode = 40013;`,
  `export const isNothing = ({ code }: PlantStoreError) => code === 40013;`,
].map((line) => `// @ts-expect-error\n${line}`);

const typed = `import { createClient, type ErrorCode, type PlantStoreError } from 'plant-store-client';
const store = createClient({ url: 'http://127.0.0.1', token: async () => 'a' });
export const isConflict = ({ code }: PlantStoreError) => code === 40004;
${mistakes.join('\n')}`;

test('the package shows a short line for an uncaught error, has what it needs, and its types hold in every strict project', async (t) => {
  const folder = await temporaryFolder(t);
  await packClient(folder);
  const installed = join(folder, 'node_modules/plant-store-client');
  await mkdir(installed, { recursive: true });
  await run('sh', ['-c', `tar -xzf *.tgz --strip-components 1 -C ${installed}`], { cwd: folder });

  const client = join(installed, 'dist/index.js');
  const wrongUse = `import { createClient } from ${JSON.stringify(client)}; createClient({});`;
  const { stderr } = await run(process.execPath, ['--input-type=module', '-e', wrongUse]).catch(
    (error) => error,
  );
  assert.match(stderr, /^file:.*dist\/index\.js:\d+\n *throw new /);
  assert(stderr.length < 2_000, stderr);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  assert.equal(manifest.dependencies, undefined);

  const examples = blocksOf('clients/typescript/README.md').filter(
    ({ language }) => language === 'js',
  );
  assert(examples.length >= 2);
  const env = 'declare const process: { env: { TOKEN: string } };\n';
  const files = [typed, ...examples.map(({ text }) => env + text)];
  const names = files.map((_, index) => `file${index}.mts`);
  for (const [index, text] of files.entries())
    await writeFile(join(folder, `file${index}.mts`), text);
  const strict = '--strict --noEmit --skipDefaultLibCheck --exactOptionalPropertyTypes';
  const options = [...strict.split(' '), '--target', 'es2022', '--lib', 'es2022,dom'];
  const modes = { nodenext: 'nodenext', esnext: 'bundler' };
  for (const [module, resolution] of Object.entries(modes)) {
    const how = ['--module', module, '--moduleResolution', resolution];
    const tsc = run(join(root, 'node_modules/.bin/tsc'), [...options, ...how, ...names], {
      cwd: folder,
    });
    await tsc.catch(({ stdout }) => assert.fail(`${resolution}: ${stdout}`));
  }
});
