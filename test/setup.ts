import { globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { buildProgram } from '../packaging/bundle.ts';
import { sharedPostgres } from './helpers/postgres.ts';
import { ownerOf, temporaryFolder } from './helpers/program.ts';

/*
 * What all files of a run share (node --test-global-setup). The files find it by the environment. A
 * file that runs alone does without.
 */

const shared = new AsyncDisposableStack();

const own = resolve('src/limits.ts');
const changed = resolve('test/helpers/changed-limits.ts');
/** As `sabotage.ts` has the source take its limits. */
const changeableLimits: Plugin = {
  name: 'changeable limits',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/limits\.ts$/ }, ({ importer, resolveDir, path }) =>
      importer !== changed && resolve(resolveDir, path) === own ? { path: changed } : undefined,
    ),
};

export async function globalSetup(): Promise<void> {
  const owner = ownerOf(shared);
  const folder = await temporaryFolder(owner);
  await buildProgram(folder, [changeableLimits]);
  // The launcher looks for its Node there.
  mkdirSync(join(folder, 'node_modules'));
  for (const name of globSync('node-*', { cwd: 'node_modules' }))
    symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  process.env['BUILT_PROGRAM'] = join(folder, 'bin/plant-store.js');
  process.env['SHARED_POSTGRES_PORT'] = `${(await sharedPostgres(owner)).port}`;
}

export async function globalTeardown(): Promise<void> {
  await shared.disposeAsync();
}
